//! How often a thread was preempted.

/// Number of times the scheduler has preempted this thread so far; 0 if the system does not report it.
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
