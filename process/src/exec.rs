//! One fork and exec: the only way a process of this crate comes to be.
//!
//! It runs `execve` itself instead of leaving that to the standard library, whose `execvp` hands a
//! file of unknown format to a shell: no shell starts a server, and a program built for another
//! system must be named as such.

use std::{
    ffi::{CString, NulError, OsString, c_char},
    io,
    os::{
        fd::OwnedFd,
        unix::{ffi::OsStrExt, process::CommandExt},
    },
    path::{Path, PathBuf},
    process::{Command, Stdio},
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
    let image = Image::prepare(order)?;
    let host = std::process::id();
    let dies_with_parent = order.dies_with_parent;

    let mut command = Command::new(&order.program);
    command
        .current_dir(&order.directory)
        .stdin(stdio(order.stdin))
        .stdout(stdio(order.stdout))
        .stderr(stdio(order.stderr));
    // SAFETY: the closure runs between fork and exec. It allocates nothing, takes no lock, and
    // makes only async-signal-safe calls.
    unsafe {
        command.pre_exec(move || {
            leave_session()?;
            if dies_with_parent {
                sys::die_with_parent()?;
                exit_if_orphaned(host);
            }
            reset_signals();
            sys::close_inherited_on_exec();
            Err(image.execute())
        });
    }
    let mut child = command
        .spawn()
        .map_err(|source| crate::interpreter::explain(&order.program, &order.directory, source))?;
    Ok(Started {
        id: child.id(),
        stdin: child.stdin.take().map(OwnedFd::from),
        stdout: child.stdout.take().map(OwnedFd::from),
        stderr: child.stderr.take().map(OwnedFd::from),
    })
}

fn stdio(stream: Stream) -> Stdio {
    match stream {
        Stream::Piped => Stdio::piped(),
        Stream::Discarded => Stdio::null(),
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

/// The arguments of `execve`, made before the fork because nothing may be allocated after it.
struct Image {
    program: CString,
    arguments: Vec<*const c_char>,
    environment: Vec<*const c_char>,
    /// What the pointers point into.
    _texts: Vec<CString>,
}

// SAFETY: the pointers lead into heap memory that `_texts` owns and that nothing changes.
unsafe impl Send for Image {}
// SAFETY: as above.
unsafe impl Sync for Image {}

impl Image {
    fn prepare(order: &Order) -> Result<Self, SpawnError> {
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
            arguments: pointers(&arguments),
            environment: pointers(&environment),
            _texts: arguments.into_iter().chain(environment).collect(),
        })
    }

    /// Returns only when it fails.
    fn execute(&self) -> io::Error {
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
