//! One new process that becomes a program: the only way a process of this crate comes to be.
//!
//! It runs `execve` itself instead of leaving that to the standard library, whose `execvp` hands a
//! file of unknown format to a shell: no shell starts a server, and a program built for another
//! system must be named as such. And it does not copy the host's memory, which the standard library
//! does for whoever wants a session of their own: a host can be large, and it is held up by that
//! long afterwards.

use std::{
    ffi::{CString, NulError, OsString, c_char},
    fs::File,
    io,
    os::{
        fd::{AsRawFd, OwnedFd, RawFd},
        unix::ffi::OsStrExt,
    },
    path::{Path, PathBuf},
    ptr,
};

use crate::{SpawnError, sys};

/// What to run and which streams the host keeps.
pub(crate) struct Order {
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<OsString>,
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) directory: PathBuf,
    pub(crate) stdin: Stream,
    pub(crate) stdout: Stream,
    pub(crate) stderr: Stream,
    /// Whether the child is killed when the calling thread ends, where the system can do that.
    pub(crate) dies_with_parent: bool,
}

#[derive(Clone, Copy)]
pub(crate) enum Stream {
    /// The host holds the other end.
    Piped,
    /// /dev/null.
    Discarded,
}

/// A child that runs, with the host's ends of its pipes.
pub(crate) struct Started {
    pub(crate) id: u32,
    pub(crate) stdin: Option<OwnedFd>,
    pub(crate) stdout: Option<OwnedFd>,
    pub(crate) stderr: Option<OwnedFd>,
}

/// Starts the program in a session of its own, and returns once it runs or is known not to.
pub(crate) fn start(order: &Order) -> Result<Started, SpawnError> {
    let prepared = Prepared::of(order)?;
    start_prepared(order, &prepared)
        .map_err(|source| crate::interpreter::explain(&order.program, &order.directory, source))
}

fn start_prepared(order: &Order, prepared: &Prepared) -> io::Result<Started> {
    let (stdin, host_stdin) = Direction::ToChild.ends(order.stdin)?;
    let (stdout, host_stdout) = Direction::FromChild.ends(order.stdout)?;
    let (stderr, host_stderr) = Direction::FromChild.ends(order.stderr)?;
    let streams = [&stdin, &stdout, &stderr].map(AsRawFd::as_raw_fd);
    let host = std::process::id();
    let id = sys::start_process(&|| {
        prepared
            .become_program(streams, host, order.dies_with_parent)
            .raw_os_error()
            .unwrap_or_default()
    })?;
    Ok(Started {
        id,
        stdin: host_stdin,
        stdout: host_stdout,
        stderr: host_stderr,
    })
}

#[derive(Clone, Copy)]
enum Direction {
    ToChild,
    FromChild,
}

impl Direction {
    /// The child's end of a standard stream, and the host's if there is one.
    fn ends(self, stream: Stream) -> io::Result<(OwnedFd, Option<OwnedFd>)> {
        if let Stream::Discarded = stream {
            let null = File::options().read(true).write(true).open("/dev/null")?;
            return Ok((sys::beyond_standard_streams(null.into())?, None));
        }
        let (reader, writer) = io::pipe()?;
        let (child, host): (OwnedFd, OwnedFd) = match self {
            Direction::ToChild => (reader.into(), writer.into()),
            Direction::FromChild => (writer.into(), reader.into()),
        };
        Ok((sys::beyond_standard_streams(child)?, Some(host)))
    }
}

/// Own session, own group, no controlling terminal: a Ctrl-C in the host's terminal does not reach
/// the child.
fn leave_session() -> io::Result<()> {
    // SAFETY: setsid takes no pointers and is async-signal-safe.
    if unsafe { libc::setsid() } < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// The host may have died before its death would have been signalled.
fn exit_if_orphaned(host: u32) {
    // SAFETY: both calls are async-signal-safe and take no pointers; _exit runs no handlers of the
    // host.
    unsafe {
        if u32::try_from(libc::getppid()) != Ok(host) {
            libc::_exit(1);
        }
    }
}

/// A host may ignore or block signals; both would be inherited, and a server would never see
/// SIGTERM.
fn reset_signals() {
    const HIGHEST_SIGNAL: i32 = 64;
    // SAFETY: all calls are async-signal-safe, and the set is initialised before it is used.
    // Numbers that the system does not know or reserves are refused and stay as they are.
    unsafe {
        for signal in 1..=HIGHEST_SIGNAL {
            libc::signal(signal, libc::SIG_DFL);
        }
        let mut none = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigemptyset(none.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, none.as_ptr(), ptr::null_mut());
    }
}

/// All that a new process needs, made beforehand because nothing may be allocated in it.
struct Prepared {
    program: CString,
    directory: CString,
    arguments: Vec<*const c_char>,
    environment: Vec<*const c_char>,
    /// What the pointers point into.
    _texts: Vec<CString>,
}

// SAFETY: the pointers lead into heap memory that `_texts` owns and that nothing changes.
unsafe impl Send for Prepared {}
// SAFETY: as above.
unsafe impl Sync for Prepared {}

impl Prepared {
    fn of(order: &Order) -> Result<Self, SpawnError> {
        let program = path_text(&order.program)?;
        let mut arguments = vec![program.clone()];
        for argument in &order.args {
            arguments.push(CString::new(argument.as_bytes()).map_err(nul("an argument"))?);
        }
        let mut environment = Vec::with_capacity(order.environment.len());
        for (name, value) in &order.environment {
            let text = [name.as_bytes(), b"=", value.as_bytes()].concat();
            environment.push(CString::new(text).map_err(nul("an environment variable"))?);
        }
        Ok(Self {
            program,
            directory: path_text(&order.directory)?,
            arguments: pointers(&arguments),
            environment: pointers(&environment),
            _texts: arguments.into_iter().chain(environment).collect(),
        })
    }

    /// Runs in the new process, which shares the host's memory: it allocates nothing, takes no lock,
    /// and makes only async-signal-safe calls. Returns only when it fails.
    fn become_program(&self, streams: [RawFd; 3], host: u32, dies_with_parent: bool) -> io::Error {
        let prepared = || {
            take_streams(streams)?;
            self.enter_directory()?;
            leave_session()?;
            if dies_with_parent {
                sys::die_with_parent()?;
                exit_if_orphaned(host);
            }
            reset_signals();
            sys::close_inherited_on_exec();
            Ok(())
        };
        if let Err(error) = prepared() {
            return error;
        }
        // SAFETY: both lists end with a null pointer, and all texts end with NUL and are alive.
        unsafe {
            libc::execve(
                self.program.as_ptr(),
                self.arguments.as_ptr(),
                self.environment.as_ptr(),
            )
        };
        io::Error::last_os_error()
    }

    fn enter_directory(&self) -> io::Result<()> {
        // SAFETY: the path is a NUL-terminated string that lives through the call.
        if unsafe { libc::chdir(self.directory.as_ptr()) } < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }
}

/// Makes descriptors the standard streams; the copies stay open when the program runs.
fn take_streams(streams: [RawFd; 3]) -> io::Result<()> {
    for (stream, number) in streams.into_iter().zip(0..) {
        // SAFETY: dup2 takes no pointers.
        if unsafe { libc::dup2(stream, number) } < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

fn path_text(path: &Path) -> Result<CString, SpawnError> {
    CString::new(path.as_os_str().as_bytes()).map_err(nul("the path"))
}

fn nul(what: &'static str) -> impl Fn(NulError) -> SpawnError {
    move |_| SpawnError::NulByte(what)
}

fn pointers(texts: &[CString]) -> Vec<*const c_char> {
    texts
        .iter()
        .map(|text| text.as_ptr())
        .chain([ptr::null()])
        .collect()
}
