//! The end of the engine leaves neither threads nor zombies. Alone in its file, because it looks at
//! the whole process.
#![cfg(target_os = "linux")]

mod support;

use std::fs;

use support::*;

fn threads() -> Vec<String> {
    fs::read_dir("/proc/self/task")
        .expect("the threads are readable")
        .flatten()
        .filter_map(|entry| fs::read_to_string(entry.path().join("comm")).ok())
        .filter(|name| name.starts_with("mcp-"))
        .collect()
}

fn children() -> Vec<u32> {
    let own = std::process::id().to_string();
    fs::read_dir("/proc")
        .expect("/proc is readable")
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|id| stat(*id).is_some_and(|fields| fields[1] == own))
        .collect()
}

#[tokio::test]
async fn nothing_is_left_of_an_engine() {
    bounded(async {
        for _ in 0..20 {
            let keep = engine();
            let closed = start(sh("exec sleep 1000")).await;
            let dropped = start(sh("exec sleep 1000")).await;
            let exited = start(sh("exit 0")).await;
            assert_eq!(threads().len(), 2);
            assert_eq!(children().len(), 4, "three servers and the guardian");
            closed.process.close(TERM).await;
            exited.process.exited().await;
            drop((closed, dropped, exited, keep));
            assert_eq!(children(), [0; 0]);
            // A thread that was joined has ended, but Linux may list it for a moment longer. The bound of the test is
            // the limit of this wait.
            while !threads().is_empty() {
                tokio::task::yield_now().await;
            }
        }
    })
    .await;
}
