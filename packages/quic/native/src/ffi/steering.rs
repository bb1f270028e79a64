//! Which socket of a shared port gets a packet, decided in the kernel (SO_ATTACH_REUSEPORT_CBPF, socket(7)).

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd, RawFd};

/// One instruction of classic BPF: its code, where a comparison leads when it holds and when not, and its constant.
pub struct Step {
    pub code: u32,
    pub holds: u8,
    pub fails: u8,
    pub constant: u32,
}

/// Has every packet for the socket's port go where the program says, until another program takes its place.
pub fn attach(socket: RawFd, program: &[Step]) -> io::Result<()> {
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
    // SAFETY: a descriptor that is not open is refused; the program and its steps outlive the call, in which the kernel copies them.
    let status = unsafe {
        libc::setsockopt(
            socket,
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
    borrow(descriptor)?.try_clone_to_owned()
}

/// A descriptor for one call, which says so where it is not open.
pub fn borrow<'fd>(descriptor: RawFd) -> io::Result<BorrowedFd<'fd>> {
    if descriptor < 0 {
        return Err(io::Error::from_raw_os_error(libc::EBADF));
    }
    // SAFETY: it is no end mark, and nothing that is done with it needs it to be open.
    Ok(unsafe { BorrowedFd::borrow_raw(descriptor) })
}

/// Has the socket be this process's among those that have descriptors of it; false where another has claimed it. A record lock (fcntl(2)):
/// it is over when the process ends, or closes any descriptor of the socket.
pub fn try_claim(descriptor: RawFd) -> io::Result<bool> {
    match lock(descriptor, libc::F_SETLK, libc::F_WRLCK, CLAIM, 1) {
        Ok(_) => Ok(true),
        Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether another process has claimed the socket.
pub fn is_claimed(descriptor: RawFd) -> bool {
    lock(descriptor, libc::F_GETLK, libc::F_WRLCK, CLAIM, 1).is_ok_and(|found| found.is_some())
}

/// Says to other processes which generation the process that has claimed the socket is of: 1 or more.
pub fn mark(descriptor: RawFd, generation: u32) -> io::Result<()> {
    let at = GENERATION + libc::off_t::from(generation);
    lock(descriptor, libc::F_SETLK, libc::F_WRLCK, at, 1).map(|_| ())
}

/// The generation of another process that has claimed the socket; 0 where there is none, or it has not said any.
pub fn generation(descriptor: RawFd) -> u32 {
    let found = lock(descriptor, libc::F_GETLK, libc::F_WRLCK, GENERATION, 0);
    let start = found.ok().flatten().unwrap_or(GENERATION);
    u32::try_from(start - GENERATION).unwrap_or(0)
}

pub fn release(descriptor: RawFd) {
    let _ = lock(descriptor, libc::F_SETLK, libc::F_UNLCK, CLAIM, 0);
}

/// The byte of a socket, as of a file, whose lock is a claim, and that whose followers stand for generations. The system makes one lock
/// of two whose bytes are neighbours.
const CLAIM: libc::off_t = 0;
const GENERATION: libc::off_t = 1;

/// One call about a lock on so many bytes, or where that is 0 on all from the first. Returns where the lock begins that the system found.
fn lock(
    descriptor: RawFd,
    command: i32,
    kind: i32,
    first: libc::off_t,
    bytes: libc::off_t,
) -> io::Result<Option<libc::off_t>> {
    let mut record = libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: first,
        l_len: bytes,
        l_pid: 0,
    };
    // SAFETY: a descriptor that is not open is refused, and the record outlives the call.
    if unsafe { libc::fcntl(descriptor, command, &raw mut record) } == 0 {
        Ok((i32::from(record.l_type) != libc::F_UNLCK).then_some(record.l_start))
    } else {
        Err(io::Error::last_os_error())
    }
}
