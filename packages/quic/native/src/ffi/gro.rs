//! Turns off the merging of received datagrams.

use std::net::UdpSocket;

/// Stops the kernel from merging datagrams for this socket (UDP_GRO). Does nothing on systems without it.
pub fn receive_singly(socket: &UdpSocket) {
    #[cfg(target_os = "linux")]
    {
        use std::os::fd::AsRawFd;
        const OFF: libc::c_int = 0;
        // SAFETY: the descriptor is open, and the option is an int that outlives the call.
        unsafe {
            libc::setsockopt(
                socket.as_raw_fd(),
                libc::SOL_UDP,
                libc::UDP_GRO,
                std::ptr::from_ref(&OFF).cast(),
                size_of_val(&OFF) as libc::socklen_t,
            );
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = socket;
}
