//! Which socket of a shared port gets a packet, decided in the kernel (SO_ATTACH_REUSEPORT_CBPF, socket(7)).

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};

/// One instruction of classic BPF: its code, where a comparison leads when it holds and when not, and its constant.
pub struct Step {
    pub code: u32,
    pub holds: u8,
    pub fails: u8,
    pub constant: u32,
}

/// Has every packet for the socket's port go where the program says, until another program takes its place.
pub fn attach(socket: BorrowedFd, program: &[Step]) -> io::Result<()> {
    let mut filter: Vec<libc::sock_filter> = program
        .iter()
        .map(|step| libc::sock_filter {
            code: step.code as u16,
            jt: step.holds,
            jf: step.fails,
            k: step.constant,
        })
        .collect();
    let program = libc::sock_fprog {
        len: filter.len() as u16,
        filter: filter.as_mut_ptr(),
    };
    // SAFETY: the descriptor is open, and the program and its steps outlive the call, in which the kernel copies them.
    let status = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_REUSEPORT_CBPF,
            std::ptr::from_ref(&program).cast(),
            size_of_val(&program) as libc::socklen_t,
        )
    };
    if status == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Another descriptor of an open file. Fails where the number names none.
pub fn duplicate(descriptor: RawFd) -> io::Result<OwnedFd> {
    if descriptor < 0 {
        return Err(io::Error::from_raw_os_error(libc::EBADF));
    }
    // SAFETY: it is borrowed for this call alone, which says so where it is not open.
    unsafe { BorrowedFd::borrow_raw(descriptor) }.try_clone_to_owned()
}
