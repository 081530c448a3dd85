//! What the options of a scenario are to this library.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use mcp_resident::{
    AutoRestart, EnvironmentProvider, ExpandMode, FixedEnvironment, HostEnvironment,
    LimitOverrides, LoadOptions, Wait,
};
use mcp_resident_fixtures::scenario::{self, Expand, Limit, Scenario, WaitUntil};

/// The options, with the environment of the runner and what the scenario lays over it.
pub(crate) fn options(
    scenario: &Scenario,
    chosen: &scenario::LoadOptions,
    directory: &Path,
) -> LoadOptions {
    let mut options = LoadOptions::default();
    options.environment = Some(Arc::new(environment(scenario)));
    options.auto_restart = chosen.auto_restart.map(auto_restart);
    options.live_tool_list = chosen.live_tool_list;
    options.default_inherit_env = chosen.default_inherit_env.clone();
    options.resident = chosen.resident.unwrap_or_default();
    options.wait = chosen.wait.map(wait).unwrap_or_default();
    options.expand = chosen.expand.map(|expand| match expand {
        Expand::Headers => ExpandMode::HeadersOnly,
        Expand::All => ExpandMode::All,
    });
    options.cache_dir = chosen.cache.then(|| directory.join("cache"));
    for (limit, amount) in &chosen.limits_ms {
        set(&mut options.limits, *limit, Duration::from_millis(*amount));
    }
    options
}

fn environment(scenario: &Scenario) -> FixedEnvironment {
    let inherited = HostEnvironment
        .variables()
        .into_iter()
        .filter(|(name, _)| !scenario.host_env.keys().any(|other| name == other.as_str()));
    let own = scenario.host_env.iter().filter_map(|(name, value)| {
        let value = value.as_ref()?;
        Some((name.into(), value.into()))
    });
    inherited.chain(own).collect()
}

fn auto_restart(chosen: scenario::AutoRestart) -> AutoRestart {
    match chosen {
        scenario::AutoRestart::Switch(false) => AutoRestart::Off,
        scenario::AutoRestart::Switch(true) => AutoRestart::On {
            max_retries: None,
            backoff: None,
        },
        scenario::AutoRestart::Numbers(numbers) => AutoRestart::On {
            max_retries: numbers.max_retries,
            backoff: numbers.backoff_ms.map(Duration::from_millis),
        },
    }
}

fn wait(chosen: scenario::Wait) -> Wait {
    match chosen {
        scenario::Wait::Until(WaitUntil::All) => Wait::All,
        scenario::Wait::Until(WaitUntil::Ready) => Wait::Ready,
        scenario::Wait::Until(WaitUntil::None) => Wait::None,
        scenario::Wait::Ms(amount) => Wait::For(Duration::from_millis(amount)),
    }
}

fn set(limits: &mut LimitOverrides, limit: Limit, amount: Duration) {
    let fields: &mut [&mut Option<Duration>] = match limit {
        Limit::Connect => &mut [
            &mut limits.connect,
            &mut limits.initialize,
            &mut limits.list,
        ],
        Limit::CallIdle => &mut [&mut limits.call_idle],
        Limit::CallTotal => &mut [&mut limits.call_total],
        Limit::StdinGrace => &mut [&mut limits.close_stdin_grace],
        Limit::TermGrace => &mut [&mut limits.close_term_grace],
        Limit::Close => &mut [&mut limits.close_total],
        Limit::Person => &mut [&mut limits.person_wait],
        Limit::StablePeriod => &mut [&mut limits.restart_stable_period],
    };
    for field in fields {
        **field = Some(amount);
    }
}
