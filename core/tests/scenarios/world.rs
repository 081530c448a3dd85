//! One scenario while it runs: its hub, its directory, its source, and what its steps left.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use mcp_resident::{McpSource, Tool};
use mcp_resident_fixtures::fake::Transport;
use mcp_resident_fixtures::hub::Hub;
use mcp_resident_fixtures::scenario::{Scenario, Step};
use tempfile::TempDir;

use crate::act::Verb;
use crate::background::{Running, timed};
use crate::expect;
use crate::failure::{Failure, ensure};
use crate::observe::{Person, StateLog};

pub(crate) struct World {
    pub(crate) scenario: Scenario,
    pub(crate) hub: Arc<Hub>,
    pub(crate) directory: TempDir,
    /// Where the fakes are that are reached by HTTP.
    pub(crate) urls: BTreeMap<String, String>,
    /// Whom the host asks; nobody before an answer was given.
    pub(crate) person: Option<Arc<Person>>,
    /// What was loaded last, also when it is closed.
    pub(crate) source: Option<Arc<McpSource>>,
    pub(crate) states: Option<StateLog>,
    pub(crate) remembered: HashMap<String, Vec<Arc<Tool>>>,
    pub(crate) running: HashMap<String, Running>,
}

impl World {
    /// Starts the hub and the fakes that are reached by HTTP.
    pub(crate) async fn new(scenario: &Scenario) -> Result<Self, Failure> {
        let directory = TempDir::new()?;
        let scenario = scenario
            .in_directory(directory.path())
            .map_err(|error| Failure::new(error.to_string()))?;
        let hub = Hub::start().await?;
        let mut urls = BTreeMap::new();
        for (name, server) in &scenario.servers {
            if server.transport != Transport::Stdio {
                let url = hub
                    .start_http(name, server.transport, &server.script, 0)
                    .await?;
                urls.insert(name.clone(), url);
            }
        }
        Ok(Self {
            scenario,
            hub: Arc::new(hub),
            directory,
            urls,
            person: None,
            source: None,
            states: None,
            remembered: HashMap::new(),
            running: HashMap::new(),
        })
    }

    /// Carries out the steps, up to the first that does not come to what it expects.
    pub(crate) async fn carry_out(&mut self) -> Result<(), Failure> {
        let steps = self.scenario.steps.clone();
        for (number, step) in (1..).zip(&steps) {
            self.step(step).await.map_err(|failure| {
                let text = format!("{step:?}");
                let verb = text.split('(').next().unwrap_or_default();
                failure.within(format!("step {number} ({verb})"))
            })?;
        }
        Ok(())
    }

    /// Closes what is open and sees that no process is left.
    pub(crate) async fn end(mut self) -> Result<(), Failure> {
        self.running.clear();
        if let Some(source) = &self.source {
            source.close().await;
        }
        self.hub.stop_all().await;
        for server in self.scenario.servers.keys() {
            let mut left = self.hub.processes(server);
            left.retain(|process| self.hub.alive(process.pid));
            ensure(left.is_empty(), || {
                format!("at the end {server:?} still has {left:?}")
            })?;
        }
        Ok(())
    }

    pub(crate) fn source(&self) -> Result<Arc<McpSource>, Failure> {
        self.source
            .clone()
            .ok_or_else(|| Failure::new("nothing is loaded"))
    }

    async fn step(&mut self, step: &Step) -> Result<(), Failure> {
        match step {
            Step::Load(step) => self.load(step).await,
            Step::Execute(step) => self.execute(step).await,
            Step::Join(step) => self.join(step).await,
            Step::Cancel(step) => self.cancel(&step.label),
            Step::WaitFor(step) => {
                let states = step.states.iter().copied();
                let states: Vec<_> = states.map(expect::library_state).collect();
                let limit = Duration::from_millis(step.timeout_ms);
                self.source()?
                    .wait_for(&step.server, &states, limit)
                    .await?;
                Ok(())
            }
            Step::Start(step) => self.lifecycle(Verb::Start, step).await,
            Step::Stop(step) => self.lifecycle(Verb::Stop, step).await,
            Step::Restart(step) => self.lifecycle(Verb::Restart, step).await,
            Step::Refresh(step) => {
                let refreshed = self.source()?.refresh(step.server.as_deref()).await;
                expect::error(refreshed.err().as_ref(), step.error.as_ref())
            }
            Step::Close(step) => {
                let ((), took) = timed(self.source()?.close()).await;
                expect::within(took, step.within_ms)
            }
            Step::ListToolsInventory(step) => self.inventory(step).await,
            Step::Answer(step) => {
                self.person.get_or_insert_default().will_answer(&step.0);
                Ok(())
            }
            Step::Kill(step) => {
                self.hub
                    .kill_role(&step.server, step.process, step.signal)?;
                Ok(())
            }
            Step::Command(step) => {
                self.hub.command(&step.server, &step.send).await?;
                Ok(())
            }
            Step::StartHttp(step) => self.start_http(step).await,
            Step::StopHttp(step) => Ok(self.hub.stop(&step.server).await?),
            other => self.check(other).await,
        }
    }
}
