//! The steps of the demo: what is done, what has to be observed, and the words for it.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use mcp_resident::{CallContext, EventKind, State};
use mcp_resident_fixtures::Signal;
use mcp_resident_fixtures::hub::{Filter, HubError};
use serde_json::{Map, Value, json};

use super::stage::{CALC, SECRET, Stage, VAULT, tool};

/// How long the hub may take to hear of what a server did, or to see that it is gone.
const SEEN_WITHIN: Duration = Duration::from_secs(10);

/// What a step saw: for people, and for programs.
#[derive(Debug)]
pub(super) struct Observed {
    pub(super) lines: Vec<String>,
    pub(super) facts: Value,
}

type Outcome = Result<Observed, String>;

#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    Connect,
    Call,
    Kill,
    CallAgain,
    ListChanged,
    Environment,
    Close,
}

impl Step {
    pub(super) const ALL: [Step; 7] = [
        Step::Connect,
        Step::Call,
        Step::Kill,
        Step::CallAgain,
        Step::ListChanged,
        Step::Environment,
        Step::Close,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Step::Connect => "connect",
            Step::Call => "call",
            Step::Kill => "kill -9",
            Step::CallAgain => "call again",
            Step::ListChanged => "list changed",
            Step::Environment => "environment",
            Step::Close => "close",
        }
    }

    /// Does what the step is about; an error says what was not as it should be.
    pub(super) async fn play(self, stage: &mut Stage) -> Outcome {
        match self {
            Step::Connect => connect(stage),
            Step::Call => call(stage).await,
            Step::Kill => kill(stage).await,
            Step::CallAgain => call_again(stage).await,
            Step::ListChanged => list_changed(stage).await,
            Step::Environment => environment(stage).await,
            Step::Close => close(stage).await,
        }
    }
}

fn connect(stage: &Stage) -> Outcome {
    let mut lines = Vec::new();
    let mut facts = Map::new();
    for server in [CALC, VAULT] {
        let process = running_process(stage, server)?;
        let tools = tools_of(stage, server);
        if tools.is_empty() {
            return Err(format!("{server} lists no tools"));
        }
        lines.push(format!(
            "{server} runs as process {process} and lists {}",
            tools.join(", ")
        ));
        facts.insert(
            server.to_owned(),
            json!({"process": process, "tools": tools}),
        );
    }
    Ok(Observed {
        lines,
        facts: facts.into(),
    })
}

async fn call(stage: &mut Stage) -> Outcome {
    let (output, process) = add(stage).await?;
    Ok(Observed {
        lines: vec![format!("2 + 40 = {output}, answered by process {process}")],
        facts: json!({"output": output, "process": process}),
    })
}

async fn kill(stage: &mut Stage) -> Outcome {
    // From here on, only what follows counts.
    stage.feed.take(&stage.source);
    let process = stage.hub.kill(CALC, Signal::KILL).map_err(in_words)?;
    let how = loop {
        let events = stage.feed.next(&stage.source).await;
        let dropped = events.into_iter().find_map(|event| match event.kind {
            EventKind::Dropped { exit, .. } if *event.server == *CALC => Some(exit),
            _ => None,
        });
        if let Some(exit) = dropped {
            break exit.map_or_else(|| "unknown".to_owned(), |exit| exit.to_string());
        }
    };
    if stage.hub.alive(process) {
        return Err(format!("process {process} still runs"));
    }
    Ok(Observed {
        lines: vec![format!("process {process} is gone; the host saw: {how}")],
        facts: json!({"process": process, "exit": how}),
    })
}

async fn call_again(stage: &mut Stage) -> Outcome {
    let before = stage.hub.pids(CALC);
    let (output, process) = add(stage).await?;
    if before.first() == Some(&process) {
        return Err(format!("process {process} was killed and yet answered"));
    }
    let states = states(stage, CALC);
    let expected = [
        State::Starting,
        State::Running,
        State::Error,
        State::Starting,
        State::Running,
    ];
    if states != expected {
        return Err(format!("the states were {}", words(&states)));
    }
    Ok(Observed {
        lines: vec![
            format!("2 + 40 = {output}, answered by process {process}"),
            format!("states since the start: {}", words(&states)),
        ],
        facts: json!({
            "output": output,
            "process": process,
            "states": states.iter().map(|state| state.as_str()).collect::<Vec<_>>(),
        }),
    })
}

async fn list_changed(stage: &mut Stage) -> Outcome {
    const GREET: &str = "calc_greet";
    if stage.source.tool(GREET).is_some() {
        return Err(format!("{GREET} is listed before the server has it"));
    }
    let greet = tool("greet", json!({"name": {"type": "string"}}));
    let command = json!({"add_tool": {"tool": greet, "notify": true}});
    stage.hub.command(CALC, command).await.map_err(in_words)?;
    let greet = loop {
        if let Some(greet) = stage.source.tool(GREET) {
            break greet;
        }
        stage.feed.next(&stage.source).await;
    };
    let result = greet
        .execute(json!({"name": "Ada"}), CallContext::default())
        .await;
    if result.is_error {
        return Err(format!("{GREET} failed: {}", result.output));
    }
    Ok(Observed {
        lines: vec![format!(
            "the server added a tool, and {GREET} is there without a reload: {}",
            result.output
        )],
        facts: json!({"added": GREET, "output": result.output}),
    })
}

async fn environment(stage: &mut Stage) -> Outcome {
    let scoped = variables(stage, CALC).await?;
    let given = variables(stage, VAULT).await?;
    if scoped.contains(SECRET) {
        return Err(format!("{CALC} sees {SECRET}"));
    }
    if !given.contains(SECRET) {
        return Err(format!("{VAULT} names {SECRET} and does not see it"));
    }
    let seen: Vec<&str> = scoped.iter().map(String::as_str).collect();
    Ok(Observed {
        lines: vec![
            format!("the host has {SECRET}; {VAULT}, whose entry names it, sees it"),
            format!("{CALC} does not: it sees {}", seen.join(", ")),
        ],
        facts: json!({"secret": SECRET, CALC: scoped, VAULT: given}),
    })
}

async fn close(stage: &mut Stage) -> Outcome {
    let processes = [stage.hub.pids(CALC), stage.hub.pids(VAULT)].concat();
    let began = Instant::now();
    stage.source.close().await;
    let took = began.elapsed().as_millis();
    let left: Vec<u32> = processes
        .iter()
        .copied()
        .filter(|process| stage.hub.alive(*process))
        .collect();
    if !left.is_empty() {
        return Err(format!("still running: {left:?}"));
    }
    let named: Vec<String> = processes.iter().map(ToString::to_string).collect();
    Ok(Observed {
        lines: vec![format!(
            "none of the processes {} is left, after {took} ms",
            named.join(", ")
        )],
        facts: json!({"processes": processes, "left": left}),
    })
}

/// Calls `add`; gives what it said, and which process really ran it.
async fn add(stage: &mut Stage) -> Result<(String, u32), String> {
    let add = stage
        .source
        .tool("calc_add")
        .ok_or("calc_add is not listed")?;
    let result = add
        .execute(json!({"a": 2, "b": 40}), CallContext::default())
        .await;
    if result.is_error || result.output != "42" {
        return Err(format!("2 + 40 gave {}", result.output));
    }
    stage.additions += 1;
    let ran = Filter::event("ran").holding(json!({"tool": "add"}));
    let ran = stage
        .hub
        .wait_for(CALC, &ran, stage.additions, SEEN_WITHIN)
        .await
        .map_err(in_words)?;
    let process = ran.last().ok_or("no process ran the call")?.pid;
    Ok((result.output, process))
}

fn running_process(stage: &Stage, server: &str) -> Result<u32, String> {
    let info = stage
        .source
        .info(server)
        .map_err(|error| error.to_string())?;
    match (info.process_id, info.last_error) {
        (Some(process), _) if info.state == State::Running => Ok(process),
        (_, Some(error)) => Err(error.to_string()),
        (_, None) => Err(format!("{server} is {}", info.state)),
    }
}

fn tools_of(stage: &Stage, server: &str) -> Vec<String> {
    let tools = stage.source.tools();
    let own = tools.iter().filter(|tool| tool.server() == server);
    own.map(|tool| tool.name().to_owned()).collect()
}

fn states(stage: &Stage, server: &str) -> Vec<State> {
    let events = stage.source.events(0);
    let own = events.iter().filter(|event| *event.server == *server);
    own.filter_map(|event| match event.kind {
        EventKind::State { to, .. } => Some(to),
        _ => None,
    })
    .collect()
}

/// The names of the variables that a server has, in its own words.
async fn variables(stage: &Stage, server: &str) -> Result<BTreeSet<String>, String> {
    let name = format!("{server}_env");
    let env = stage
        .source
        .tool(&name)
        .ok_or_else(|| format!("{name} is not listed"))?;
    let result = env.execute((), CallContext::default()).await;
    match serde_json::from_str::<Map<String, Value>>(&result.output) {
        Ok(variables) => Ok(variables.into_iter().map(|(name, _)| name).collect()),
        Err(_) => Err(format!("{name} failed: {}", result.output)),
    }
}

fn words(states: &[State]) -> String {
    let words: Vec<&str> = states.iter().map(|state| state.as_str()).collect();
    words.join(", ")
}

fn in_words(error: HubError) -> String {
    error.to_string()
}
