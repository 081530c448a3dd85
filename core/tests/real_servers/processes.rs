//! Who is left of a server: the processes of the session that its process leads.

use rustix::process::{Pid, kill_process};

/// Sends SIGKILL to one process.
pub(crate) fn kill(pid: u32) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).unwrap();
    kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

/// The processes that run in the session of this leader, the leader included.
#[cfg(target_os = "linux")]
pub(crate) fn of_session(leader: u32) -> Vec<u32> {
    let is_member = |pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // After the name, which is in brackets: state, parent, group, session.
        let mut fields = stat.rsplit(") ").next().unwrap_or_default().split(' ');
        !matches!(fields.next(), Some("Z" | "X"))
            && fields.nth(2).and_then(|field| field.parse().ok()) == Some(leader)
    };
    std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(is_member)
        .collect()
}

/// The same by group, where `ps` does not tell the session.
#[cfg(not(target_os = "linux"))]
pub(crate) fn of_session(leader: u32) -> Vec<u32> {
    let listed = std::process::Command::new("ps")
        .args(["-A", "-o", "pid=,pgid=,stat="])
        .output()
        .unwrap();
    String::from_utf8_lossy(&listed.stdout)
        .lines()
        .filter_map(|line| {
            let mut fields = line.split_whitespace();
            let pid = fields.next()?.parse().ok()?;
            let group: u32 = fields.next()?.parse().ok()?;
            (group == leader && !fields.next()?.starts_with('Z')).then_some(pid)
        })
        .collect()
}
