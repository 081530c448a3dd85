//! `demo`.

use serde_json::json;

use crate::support::Home;

const STEPS: [&str; 7] = [
    "connect",
    "call",
    "kill -9",
    "call again",
    "list changed",
    "environment",
    "close",
];

#[test]
fn the_whole_story_is_told_in_order() {
    let ran = Home::new().run(["demo"]).ended_with(0).said("");
    let mut rest = ran.out.as_str();
    for step in STEPS {
        let (_, after) = rest
            .split_once(&format!("{step} "))
            .unwrap_or_else(|| panic!("no {step} in {}", ran.out));
        rest = after;
    }
    assert!(ran.out.ends_with("\nall as it should be\n"), "{}", ran.out);
    assert!(
        ran.out
            .contains("starting, running, error, starting, running"),
        "{}",
        ran.out
    );
}

#[test]
fn what_was_observed_is_there_as_json() {
    let told = Home::new()
        .run(["demo", "--json"])
        .ended_with(0)
        .said("")
        .json();
    assert_eq!(told["ok"], true);
    let steps = told["steps"].as_array().unwrap();
    let names: Vec<_> = steps
        .iter()
        .map(|step| step["step"].as_str().unwrap())
        .collect();
    assert_eq!(names, STEPS);
    let observed = |step: usize| &steps[step]["observed"];
    assert_eq!(observed(1)["process"], observed(2)["process"]);
    assert_ne!(observed(1)["process"], observed(3)["process"]);
    assert_eq!(observed(6)["left"], json!([]));
    assert_eq!(observed(6)["processes"].as_array().unwrap().len(), 3);
}
