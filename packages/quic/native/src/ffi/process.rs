//! Other processes of this machine.

/// Whether a process with this number exists, under any user.
#[cfg(unix)]
pub fn is_running(process: u32) -> bool {
    let Ok(process) = libc::pid_t::try_from(process) else {
        return false;
    };
    // SAFETY: signal 0 is not sent; the call only looks whether it could be.
    let status = unsafe { libc::kill(process, 0) };
    status == 0 || std::io::Error::last_os_error().raw_os_error() != Some(libc::ESRCH)
}

/// Ports are only shared on Unix.
#[cfg(not(unix))]
pub fn is_running(_process: u32) -> bool {
    true
}
