//! A host as a binding is one: a queue, and the deliveries that were taken from it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mcp_resident_facade::mcp_resident::{Error, ToolResult};
use mcp_resident_facade::{
    CallOptions, Configuration, Delivery, LoadRequest, OperationId, Outcome, Queue, Source, Tool,
    load,
};
use mcp_resident_fixtures::hub::FakeProgram;
use serde_json::{Value, json};

/// Longer than anything here takes, on a loaded machine too.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// The tests count threads of this process, so they run one at a time.
static ALONE: Mutex<()> = Mutex::new(());

pub(crate) fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The configuration of one fake named `s`.
fn config(script: &Value) -> String {
    let program = FakeProgram::find().expect("cargo build -p mcp-resident-fixtures");
    let entry = json!({
        "command": program.path,
        "args": ["fake", "--script", script.to_string()],
    });
    json!({ "mcpServers": { "s": entry } }).to_string()
}

pub(crate) fn request(script: &Value, options: &Value) -> LoadRequest {
    let config = Configuration::from_json(&config(script)).expect("a good configuration");
    LoadRequest::new(config, &options.to_string()).expect("good options")
}

/// A queue, and what was taken from it while waiting for something else.
pub(crate) struct Host {
    pub(crate) queue: Arc<Queue>,
    pub(crate) seen: Vec<Delivery>,
}

impl Host {
    pub(crate) fn new() -> Self {
        Self {
            queue: Queue::blocking(),
            seen: Vec::new(),
        }
    }

    pub(crate) fn load(&mut self, script: &Value, options: &Value) -> Arc<Source> {
        self.load_request(request(script, options))
    }

    pub(crate) fn load_request(&mut self, request: LoadRequest) -> Arc<Source> {
        let operation = load(&self.queue, request).expect("no fork");
        match self.outcome(operation) {
            Outcome::Loaded(source) => source.expect("a source"),
            other => panic!("a load ended as {other:?}"),
        }
    }

    pub(crate) fn call(&self, tool: &Tool, arguments: Value) -> OperationId {
        let options = CallOptions::default();
        tool.execute(&self.queue, arguments.into(), options)
            .expect("no fork")
    }

    pub(crate) fn result(&mut self, operation: OperationId) -> ToolResult {
        match self.outcome(operation) {
            Outcome::Called(result) => result,
            other => panic!("a call ended as {other:?}"),
        }
    }

    pub(crate) fn done(&mut self, operation: OperationId) -> Result<(), Error> {
        match self.outcome(operation) {
            Outcome::Done(result) => result,
            other => panic!("ended as {other:?}"),
        }
    }

    pub(crate) fn close(&mut self, source: &Source) {
        let operation = source.close(&self.queue).expect("no fork");
        self.done(operation).expect("a close never fails");
    }

    /// Takes deliveries until the operation has ended; the others are kept.
    pub(crate) fn outcome(&mut self, wanted: OperationId) -> Outcome {
        let place = self.until(|delivery| {
            matches!(delivery, Delivery::Completed { operation, .. } if *operation == wanted)
        });
        match self.seen.remove(place) {
            Delivery::Completed { outcome, .. } => outcome,
            _ => unreachable!("it was found by its kind"),
        }
    }

    /// Takes deliveries until there is such a one, and says where it is.
    pub(crate) fn until(&mut self, wanted: impl Fn(&Delivery) -> bool) -> usize {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(place) = self.seen.iter().position(&wanted) {
                return place;
            }
            let left = end.saturating_duration_since(Instant::now());
            assert!(
                self.queue.wait(left),
                "nothing came; so far: {:?}",
                self.seen
            );
            self.seen.extend(self.queue.take(64));
        }
    }
}

/// How many threads of this process have such a name.
pub(crate) fn threads_named(name: &str) -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").expect("a list of threads");
    let names =
        tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.filter(|found| found.trim_end() == name).count()
}
