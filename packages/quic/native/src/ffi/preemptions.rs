//! How often a thread had to leave its core to another.

/// Counts how often the scheduler has taken the processor from this thread so far; 0 where the system does not say.
pub fn preemptions() -> u64 {
    #[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd"))]
    {
        let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: `usage` has room for what is written, and zeroes are a valid value of it where nothing is.
        let usage = unsafe {
            libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
            usage.assume_init()
        };
        usage.ru_nivcsw as u64
    }
    #[cfg(not(any(target_os = "linux", target_os = "android", target_os = "freebsd")))]
    0
}
