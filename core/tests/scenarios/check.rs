//! The steps that wait for something or expect it.

use std::sync::Arc;
use std::time::Duration;

use mcp_resident::{Event, EventKind};
use mcp_resident_fixtures::hub::Filter;
use mcp_resident_fixtures::matches;
use mcp_resident_fixtures::scenario::{
    ExpectAsked, ExpectEnv, ExpectEvents, ExpectJournal, ExpectNoProcess, ExpectSameTool,
    ExpectSchema, ExpectStates, ExpectTools, Step, WaitJournal,
};
use serde_json::Value;
use tokio::sync::watch;

use crate::background::PATIENCE;
use crate::expect;
use crate::failure::{Failure, ensure};
use crate::json;
use crate::world::World;

impl World {
    pub(crate) async fn check(&mut self, step: &Step) -> Result<(), Failure> {
        match step {
            Step::WaitJournal(step) => self.wait_journal(step).await,
            Step::ExpectJournal(step) => self.expect_journal(step),
            Step::ExpectStates(step) => self.expect_states(step).await,
            Step::ExpectState(step) => expect::state(&*self.source()?, &step.server, step.state),
            Step::ExpectStatus(statuses) => {
                let source = self.source()?;
                statuses
                    .iter()
                    .try_for_each(|(server, status)| expect::status(&source, server, *status))
            }
            Step::ExpectTools(step) => expect::tools(&*self.source()?, step),
            Step::WaitTools(step) => self.wait_tools(step).await,
            Step::ExpectSchema(step) => self.expect_schema(step),
            Step::RememberTools(step) => {
                let tools = self.source()?.tools();
                self.remembered.insert(step.label.clone(), tools);
                Ok(())
            }
            Step::ExpectSameTool(step) => self.expect_same_tool(step),
            Step::ExpectEvents(step) => self.expect_events(step),
            Step::ExpectNoProcess(step) => self.expect_no_process(step).await,
            Step::ExpectEnv(step) => self.expect_env(step),
            Step::ExpectAsked(step) => self.expect_asked(step),
            Step::ExpectFile(step) => ensure(step.path.exists() == step.exists, || {
                format!("expected exists {}: {}", step.exists, step.path.display())
            }),
            other => Err(Failure::new(format!("no step of this runner: {other:?}"))),
        }
    }

    async fn wait_journal(&self, step: &WaitJournal) -> Result<(), Failure> {
        let filter = filter(&step.event, step.pattern.as_ref());
        let limit = Duration::from_millis(step.timeout_ms);
        self.hub
            .wait_for(&step.server, &filter, step.count, limit)
            .await?;
        Ok(())
    }

    fn expect_journal(&self, step: &ExpectJournal) -> Result<(), Failure> {
        let filter = filter(&step.event, step.pattern.as_ref());
        let found = self.hub.matching(&step.server, &filter).len();
        let as_expected = match (step.count, step.at_most) {
            (Some(count), _) => found == count,
            (None, Some(most)) => found <= most,
            (None, None) => found > 0,
        };
        ensure(as_expected, || {
            format!("found {found} entries like {filter}, expected {step:?}")
        })
    }

    async fn expect_states(&self, step: &ExpectStates) -> Result<(), Failure> {
        let states = self
            .states
            .as_ref()
            .ok_or_else(|| Failure::new("nothing is loaded"))?;
        let wanted: Vec<_> = step
            .observed
            .iter()
            .copied()
            .map(expect::library_state)
            .collect();
        let found = states.at_least(&step.server, wanted.len()).await;
        ensure(found == wanted, || {
            format!("expected the states {wanted:?}, not {found:?}")
        })
    }

    async fn wait_tools(&self, step: &ExpectTools) -> Result<(), Failure> {
        let source = self.source()?;
        let (changed, mut changes) = watch::channel(());
        let _subscription = source.on_event(move |event: &Event| {
            if let EventKind::ToolsChanged { .. } | EventKind::State { .. } = event.kind {
                changed.send_replace(());
            }
        });
        let as_expected = async {
            while expect::tools(&source, step).is_err() {
                if changes.changed().await.is_err() {
                    return;
                }
            }
        };
        // What is not there by then is told by the comparison.
        let _ = tokio::time::timeout(PATIENCE, as_expected).await;
        expect::tools(&source, step)
    }

    fn expect_schema(&self, step: &ExpectSchema) -> Result<(), Failure> {
        let tool = self.source()?.tool(&step.tool);
        let tool = tool.ok_or_else(|| Failure::new(format!("there is no tool {:?}", step.tool)))?;
        for (wanted, found) in [
            (&step.schema, tool.input_schema()),
            (&step.server_schema, tool.server_schema()),
        ] {
            let Some(wanted) = wanted else { continue };
            let (wanted, found) = (json::compact(wanted.get()), json::compact(found.as_str()));
            ensure(found == wanted, || {
                format!("expected the schema {wanted}, not {found}")
            })?;
        }
        Ok(())
    }

    fn expect_same_tool(&self, step: &ExpectSameTool) -> Result<(), Failure> {
        let now = self.source()?.tool(&step.tool);
        let then = self.remembered_tool(&step.since, &step.tool);
        let (Some(now), Some(then)) = (now, then) else {
            return Err(Failure::new(format!("there is no tool {:?}", step.tool)));
        };
        ensure(Arc::ptr_eq(&now, &then) == step.same, || {
            format!("expected the same object: {}", step.same)
        })
    }

    fn expect_events(&self, step: &ExpectEvents) -> Result<(), Failure> {
        let events: Vec<Value> = self
            .source()?
            .events(0)
            .iter()
            .filter(|event| *event.server == *step.server)
            .map(json::event)
            .collect();
        let mut left = events.iter();
        for pattern in &step.has {
            ensure(left.any(|event| matches(pattern, event)), || {
                let events: Vec<String> = events.iter().map(Value::to_string).collect();
                format!(
                    "no event like {pattern} at its place in {}",
                    events.join(" ")
                )
            })?;
        }
        Ok(())
    }

    async fn expect_no_process(&self, step: &ExpectNoProcess) -> Result<(), Failure> {
        let limit = Duration::from_millis(step.timeout_ms);
        Ok(self.hub.wait_gone(&step.server, limit).await?)
    }

    fn expect_env(&self, step: &ExpectEnv) -> Result<(), Failure> {
        let started = Filter {
            launch: step.launch,
            ..Filter::event("started")
        };
        let started = self.hub.matching(&step.server, &started);
        let environment = started
            .last()
            .and_then(|entry| entry.data.get("env"))
            .ok_or_else(|| Failure::new(format!("{:?} was not started so often", step.server)))?;
        for (name, wanted) in &step.has {
            let found = environment.get(name).and_then(Value::as_str);
            ensure(found == Some(wanted), || {
                format!("expected {name}={wanted:?}, not {found:?}")
            })?;
        }
        for name in &step.lacks {
            ensure(environment.get(name).is_none(), || format!("{name} is set"))?;
        }
        Ok(())
    }

    fn expect_asked(&self, step: &ExpectAsked) -> Result<(), Failure> {
        let asked = self
            .person
            .as_ref()
            .map(|person| person.asked())
            .unwrap_or_default();
        let as_expected = asked.len() == step.requests.len()
            && step
                .requests
                .iter()
                .zip(&asked)
                .all(|(pattern, asked)| matches(pattern, asked));
        ensure(as_expected, || {
            format!("expected the questions {:?}, not {asked:?}", step.requests)
        })
    }
}

fn filter(event: &str, pattern: Option<&Value>) -> Filter {
    Filter {
        pattern: pattern.cloned(),
        ..Filter::event(event)
    }
}
