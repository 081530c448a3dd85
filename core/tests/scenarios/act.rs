//! The steps that do something through the library, or to a fake.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use mcp_resident::{
    Arguments, CallContext, CancellationToken, Error, LoadOptions, McpSource, RawJson, Tool,
    list_mcp_tools, load_mcp,
};
use mcp_resident_fixtures::scenario::{
    Execute, Join, JournalMark, Lifecycle, ListToolsInventory, Load, StartHttp,
};

use crate::background::{GivenUp, Outcome, Running, timed};
use crate::config::{Overrides, Places};
use crate::expect;
use crate::failure::{Failure, ensure};
use crate::load;
use crate::observe::StateLog;
use crate::world::World;

/// What a lifecycle step does.
#[derive(Clone, Copy)]
pub(crate) enum Verb {
    Start,
    Stop,
    Restart,
}

impl World {
    pub(crate) async fn load(&mut self, step: &Load) -> Result<(), Failure> {
        let config = self.places().config(&self.scenario, &step.config)?;
        let chosen = step.options.as_ref().unwrap_or(&self.scenario.options);
        let mut options = load::options(&self.scenario, chosen, self.directory.path());
        self.ask_the_person(&mut options);
        let cancel = CancellationToken::new();
        options.cancel = Some(cancel.clone());
        let given_up = self.given_up(step.cancel_after_event.as_ref(), &cancel);
        let load = async move { load_mcp(config, options).await.map(Arc::new) };
        let work = async move { given_up.watch(load).await };
        if let Some(label) = &step.label {
            let work = async move { Ok(Outcome::Load(work.await?)) };
            self.run(label, Running::spawn(cancel, work));
            return Ok(());
        }
        let (loaded, took) = timed(work).await;
        let loaded = loaded?;
        expect::within(took, step.expect.within_ms)?;
        expect::error(loaded.as_ref().err(), step.expect.error.as_ref())?;
        if let Ok(source) = loaded {
            expect::loaded(self.take_over(source), &step.expect)?;
        }
        Ok(())
    }

    pub(crate) async fn execute(&mut self, step: &Execute) -> Result<(), Failure> {
        let tool = self.tool(step)?;
        let arguments = match &step.args {
            Some(arguments) => {
                let arguments: RawJson = arguments.get().parse().map_err(invalid)?;
                arguments.into()
            }
            None => Arguments::none(),
        };
        let cancel = CancellationToken::new();
        let mut context = CallContext::with_cancel(cancel.clone());
        context.timeout = step.timeout_ms.map(Duration::from_millis);
        let given_up = self.given_up(step.cancel_after_event.as_ref(), &cancel);
        let times = step.times;
        let calls = async move {
            let calls = (0..times).map(|_| timed(tool.execute(arguments.clone(), context.clone())));
            given_up.watch(join_all(calls)).await
        };
        if let Some(label) = &step.label {
            let work = async move { Ok(Outcome::Calls(calls.await?)) };
            self.run(label, Running::spawn(cancel, work));
            return Ok(());
        }
        for (result, took) in calls.await? {
            expect::result(&result, took, &step.expect)?;
        }
        Ok(())
    }

    pub(crate) async fn join(&mut self, step: &Join) -> Result<(), Failure> {
        let running = self.running.remove(&step.label);
        let (outcome, took) = timed(running.ok_or_else(|| gone(&step.label))?.join()).await;
        expect::within(took, step.within_ms)?;
        match outcome? {
            Outcome::Calls(calls) => calls
                .iter()
                .try_for_each(|(result, took)| expect::result(result, *took, &step.expect)),
            Outcome::Lifecycle(result) => expect::error(result.as_ref().err(), step.error.as_ref()),
            Outcome::Load(loaded) => {
                expect::error(loaded.as_ref().err(), step.error.as_ref())?;
                if let Ok(source) = loaded {
                    self.take_over(source);
                }
                Ok(())
            }
        }
    }

    pub(crate) fn cancel(&self, label: &str) -> Result<(), Failure> {
        let running = self.running.get(label).ok_or_else(|| gone(label))?;
        running.cancel.cancel();
        Ok(())
    }

    pub(crate) async fn lifecycle(&mut self, verb: Verb, step: &Lifecycle) -> Result<(), Failure> {
        let (source, server) = (self.source()?, step.server.clone());
        let cancel = CancellationToken::new();
        let token = cancel.clone();
        let work = async move { carry_out(verb, &source, &server, &token).await };
        if let Some(label) = &step.label {
            let work = async move { Ok(Outcome::Lifecycle(work.await)) };
            self.run(label, Running::spawn(cancel, work));
            return Ok(());
        }
        let (result, took) = timed(work).await;
        expect::error(result.err().as_ref(), step.error.as_ref())?;
        expect::within(took, step.within_ms)
    }

    pub(crate) async fn inventory(&mut self, step: &ListToolsInventory) -> Result<(), Failure> {
        let config = self.places().config(&self.scenario, &Overrides::new())?;
        let options = &self.scenario.options;
        let options = load::options(&self.scenario, options, self.directory.path());
        let entries = list_mcp_tools(config, options).await?;
        for (server, expected) in &step.expect {
            let entry = entries.iter().find(|entry| entry.server == *server);
            let entry = entry.ok_or_else(|| Failure::new(format!("{server:?} is missing")))?;
            let names: Vec<&str> = entry.tools.iter().map(|tool| &*tool.name).collect();
            let as_expected = entry.status.as_str() == expect::status_name(expected.status)
                && expected.tools == names;
            ensure(as_expected, || {
                let status = entry.status;
                format!("expected {expected:?} of {server:?}, not {status} with {names:?}")
            })?;
        }
        Ok(())
    }

    pub(crate) async fn start_http(&mut self, step: &StartHttp) -> Result<(), Failure> {
        let name = &step.server;
        let server = &self.scenario.servers[name];
        let port = self
            .urls
            .get(name)
            .and_then(|url| url.parse::<http::Uri>().ok()?.port_u16())
            .ok_or_else(|| Failure::new(format!("{name:?} has no port")))?;
        let script = step.script.as_ref().unwrap_or(&server.script);
        self.hub
            .start_http(name, server.transport, script, port)
            .await?;
        Ok(())
    }

    fn places(&self) -> Places<'_> {
        Places {
            hub: &self.hub,
            urls: &self.urls,
            directory: self.directory.path(),
        }
    }

    /// Only a host that can ask is told of questions.
    fn ask_the_person(&self, options: &mut LoadOptions) {
        if let Some(person) = self.person.clone() {
            options.wait_for = Some(Arc::new(move |request| Arc::clone(&person).ask(request)));
        }
    }

    fn given_up(&self, mark: Option<&JournalMark>, cancel: &CancellationToken) -> GivenUp {
        GivenUp {
            hub: Arc::clone(&self.hub),
            mark: mark.cloned(),
            cancel: cancel.clone(),
        }
    }

    fn run(&mut self, label: &str, running: Running) {
        self.running.insert(label.to_owned(), running);
    }

    fn take_over(&mut self, source: Arc<McpSource>) -> &McpSource {
        self.states = Some(StateLog::of(&source));
        self.source.insert(source)
    }

    fn tool(&self, step: &Execute) -> Result<Arc<Tool>, Failure> {
        let found = match &step.remembered {
            Some(label) => self.remembered_tool(label, &step.tool),
            None => self.source()?.tool(&step.tool),
        };
        found.ok_or_else(|| Failure::new(format!("there is no tool {:?}", step.tool)))
    }

    /// A tool as it was when the tools were remembered.
    pub(crate) fn remembered_tool(&self, label: &str, name: &str) -> Option<Arc<Tool>> {
        let tools = self.remembered.get(label)?;
        tools.iter().find(|tool| tool.name() == name).cloned()
    }
}

async fn carry_out(
    verb: Verb,
    source: &McpSource,
    server: &str,
    cancel: &CancellationToken,
) -> Result<(), Error> {
    match verb {
        Verb::Start => source.start(server, Some(cancel)).await,
        Verb::Stop => source.stop(server).await,
        Verb::Restart => source.restart(server, Some(cancel)).await,
    }
}

fn gone(label: &str) -> Failure {
    Failure::new(format!("nothing runs as {label:?}"))
}

fn invalid(error: mcp_resident::InvalidJson) -> Failure {
    Failure::new(error.to_string())
}
