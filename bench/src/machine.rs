//! What the operating system says about this process and this machine.

use std::fs;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::Failure;

/// The processor time that this process has used, all threads together and children not.
pub(crate) fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(
        time.tv_sec.unsigned_abs(),
        u32::try_from(time.tv_nsec).unwrap_or_default(),
    )
}

/// Keeps this process, and every child from now on, on one core: wake-ups across cores vary more than
/// what is measured.
#[cfg(target_os = "linux")]
pub(crate) fn pin_to_one_core() -> Result<(), Failure> {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

    let allowed = sched_getaffinity(None)?;
    let first = (0..CpuSet::MAX_CPU).find(|core| allowed.is_set(*core));
    let mut one = CpuSet::new();
    one.set(first.ok_or("no core is allowed")?);
    Ok(sched_setaffinity(None, &one)?)
}

/// Not written.
#[cfg(not(target_os = "linux"))]
pub(crate) fn pin_to_one_core() -> Result<(), Failure> {
    Err("pinning to a core is written for Linux only".into())
}

/// Memory of this process in MiB that is resident now.
pub(crate) fn resident_mib() -> Result<f64, Failure> {
    status_mib("VmRSS")
}

/// Memory of this process in MiB that was resident at its peak.
pub(crate) fn peak_mib() -> Result<f64, Failure> {
    status_mib("VmHWM")
}

fn status_mib(field: &str) -> Result<f64, Failure> {
    let status = fs::read_to_string("/proc/self/status")?;
    let kib: f64 = status
        .lines()
        .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))
        .and_then(|rest| rest.split_whitespace().next())
        .ok_or_else(|| format!("/proc/self/status has no {field}"))?
        .parse()?;
    Ok(kib / 1024.0)
}

/// The machine in one line.
pub(crate) fn description() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let model = fs::read_to_string("/proc/cpuinfo")
        .ok()
        .and_then(|text| {
            let line = text.lines().find(|line| line.starts_with("model name"))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        })
        .unwrap_or_else(|| "processor".to_owned());
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!(
        "{cores} cores ({model}), {} {}",
        std::env::consts::OS,
        // Major and minor say enough; what a distribution adds says nothing.
        release.splitn(3, '.').take(2).collect::<Vec<_>>().join(".")
    )
}
