//! Access to glibc's allocator, which the engine shares with the rest of the process.

/// Returns all free memory to the system. Takes longer the more there is.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn give_back() {
    // SAFETY: touches memory that is free, under the allocator's locks.
    unsafe { libc::malloc_trim(0) };
}

/// Resident bytes of the process; 0 if unknown.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn resident() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm")
        .ok()
        .and_then(|text| text.split(' ').nth(1)?.parse::<u64>().ok());
    // SAFETY: a constant of the system.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    pages.unwrap_or(0) * u64::try_from(page).unwrap_or(0)
}

/// Other allocators return free memory by themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn give_back() {}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn resident() -> u64 {
    0
}
