//! Chooses in the kernel which socket of a shared port receives a packet (SO_ATTACH_REUSEPORT_CBPF, socket(7)), and
//! lets processes claim such sockets.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd, RawFd};

/// One instruction of classic BPF: its code, the jump offsets for a comparison that holds and for one that does not,
/// and its constant.
pub struct Step {
    pub code: u32,
    pub holds: u8,
    pub fails: u8,
    pub constant: u32,
}

/// Attaches a program that chooses the socket for each packet to the socket's port; replaces an earlier program.
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

/// Duplicates a descriptor. Fails if the number is not an open descriptor.
pub fn duplicate(descriptor: RawFd) -> io::Result<OwnedFd> {
    borrow(descriptor)?.try_clone_to_owned()
}

/// Borrows a descriptor for one call. Fails if it is not open.
pub fn borrow<'fd>(descriptor: RawFd) -> io::Result<BorrowedFd<'fd>> {
    if descriptor < 0 {
        return Err(io::Error::from_raw_os_error(libc::EBADF));
    }
    // SAFETY: it is no end mark, and nothing that is done with it needs it to be open.
    Ok(unsafe { BorrowedFd::borrow_raw(descriptor) })
}

/// Claims the socket for this process among the processes that share it; returns false if another has claimed it. Uses
/// a record lock (fcntl(2)), which is released when the process ends or closes any descriptor of the socket.
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

/// Publishes the generation of the process that has claimed the socket: 1 or more.
pub fn mark(descriptor: RawFd, generation: u32) -> io::Result<()> {
    let at = GENERATION + libc::off_t::from(generation);
    lock(descriptor, libc::F_SETLK, libc::F_WRLCK, at, 1).map(|_| ())
}

/// The generation of the other process that has claimed the socket; 0 if there is none or it has not published one.
pub fn generation(descriptor: RawFd) -> u32 {
    let found = lock(descriptor, libc::F_GETLK, libc::F_WRLCK, GENERATION, 0);
    let start = found.ok().flatten().unwrap_or(GENERATION);
    u32::try_from(start - GENERATION).unwrap_or(0)
}

pub fn release(descriptor: RawFd) {
    let _ = lock(descriptor, libc::F_SETLK, libc::F_UNLCK, CLAIM, 0);
}

/// Offset of the byte whose lock is a claim, and of the byte after which locks encode generations. They are apart
/// because the system merges locks of adjacent bytes.
const CLAIM: libc::off_t = 0;
const GENERATION: libc::off_t = 1;

/// Performs one lock operation on `length` bytes; 0 means all bytes from the first. Returns the start of the lock that
/// the system found.
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
