//! Receiving datagrams as they came.

use std::net::UdpSocket;

/// The kernel puts no datagrams together for this socket (UDP_GRO). Where it never does, nothing happens.
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
