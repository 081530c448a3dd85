use std::time::{Duration, Instant};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::ArgumentRules;
use crate::json::RawJson;

fn rules(schema: &Value) -> ArgumentRules {
    ArgumentRules::of(&RawJson::from(schema))
}

/// What is sent, or what is said instead.
fn checked(schema: &Value, arguments: &str) -> Result<String, String> {
    let sent = rules(schema).check(arguments.parse().unwrap());
    sent.map(|sent| sent.as_str().to_owned())
}

fn find() -> Value {
    json!({
        "type": "object",
        "properties": {
            "query": {"type": "string"},
            "country": {"type": "string"},
            "cursor": {"type": ["string", "null"]},
            "parent": {"type": ["string", "null"]},
            "filter": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "place": {"$ref": "#/$defs/place"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "free": {"default": null},
            "nothing": {"const": null},
            "rows": {"type": "array", "items": {"type": "object", "properties": {"note": {"type": "string"}}}},
        },
        "required": ["query", "parent"],
        "$defs": {"place": {"type": "object", "properties": {"city": {"type": "string"}, "zip": {"type": ["string", "null"]}}}},
    })
}

#[test]
fn a_null_is_dropped_where_it_would_be_refused_and_nowhere_else() {
    for (given, sent) in [
        (
            r#"{"query":"q", "parent":null}"#,
            r#"{"query":"q", "parent":null}"#,
        ),
        (
            r#"{"query":"q","parent":null,"country":null}"#,
            r#"{"query":"q","parent":null}"#,
        ),
        (
            r#"{"query":"q","parent":"p","cursor":null,"filter":null,"free":null,"nothing":null}"#,
            r#"{"query":"q","parent":"p","cursor":null,"filter":null,"free":null,"nothing":null}"#,
        ),
        // At every depth, through references and lists; what is accepted beside it stays.
        (
            r#"{"query":"q","parent":null,"place":{"city":null,"zip":null}}"#,
            r#"{"query":"q","parent":null,"place":{"zip":null}}"#,
        ),
        (
            r#"{"query":"q","parent":null,"rows":[{"note":null},{"note":"n"}],"country":null}"#,
            r#"{"query":"q","parent":null,"rows":[{},{"note":"n"}]}"#,
        ),
        // Numbers and names that are not looked at stay as they were written.
        (
            r#"{"query":"q","parent":null,"country":null,"n":1e2,"\u0061":18446744073709551616}"#,
            r#"{"query":"q","parent":null,"n":1e2,"a":18446744073709551616}"#,
        ),
    ] {
        assert_eq!(checked(&find(), given).as_deref(), Ok(sent), "{given}");
    }
}

#[test]
fn alternatives_decide_together() {
    let schema = json!({"oneOf": [
        {"type": "object", "properties": {"kind": {"const": "a"}, "x": {"type": "string"}}, "required": ["kind"]},
        {"type": "object", "properties": {"kind": {"const": "b"}, "x": {"type": ["null", "number"]}, "y": {"type": "number"}}, "required": ["kind"]},
    ]});
    for (given, sent) in [
        (r#"{"kind":"a","x":null}"#, r#"{"kind":"a"}"#),
        (r#"{"kind":"b","x":null}"#, r#"{"kind":"b","x":null}"#),
        // Both are refused by some alternative; the one that counts wants the first.
        (
            r#"{"kind":"b","x":null,"y":null}"#,
            r#"{"kind":"b","x":null}"#,
        ),
    ] {
        assert_eq!(checked(&schema, given).as_deref(), Ok(sent), "{given}");
    }
}

#[test]
fn what_is_wrong_is_told_with_what_was_expected_and_what_was_sent() {
    let mut schema = find();
    schema["additionalProperties"] = json!(false);
    schema["properties"]["size"] = json!({"enum": ["s", "m"]});
    schema["properties"]["code"] = json!({"type": "string", "pattern": "^[a-z]+$", "maxLength": 3});
    for (given, told) in [
        (r#"{"parent":null}"#, r#"the arguments: "query" is missing"#),
        // A null that must be something is what is wrong, and not that it is missing.
        (
            r#"{"query":null,"parent":null}"#,
            "/query: expected string, got null",
        ),
        (
            r#"{"query":"q","parent":3,"country":null}"#,
            "/parent: expected null or string, got 3",
        ),
        (
            r#"{"query":"q","parent":null,"qerry":1}"#,
            "the arguments: there is no argument `qerry`",
        ),
        (
            r#"{"query":"q","parent":null,"size":"xl"}"#,
            r#"/size: expected one of "s", "m", got "xl""#,
        ),
        (
            r#"{"query":"q","parent":null,"code":"9"}"#,
            r#"/code: expected text that matches ^[a-z]+$, got "9""#,
        ),
        (
            r#"{"query":"q","parent":null,"code":"abcd"}"#,
            r#"/code: value is longer than 3 characters, got "abcd""#,
        ),
        (
            r#"{"query":"q","parent":null,"filter":3}"#,
            "/filter: fits no alternative (/filter: expected string, got 3; or /filter: expected null, got 3)",
        ),
        (
            r#"{"query":"q","parent":null,"tags":["a",2]}"#,
            "/tags/1: expected string, got 2",
        ),
    ] {
        assert_eq!(
            checked(&schema, given),
            Err(format!("invalid arguments: {told}")),
            "{given}"
        );
    }
}

#[test]
fn what_is_told_is_short() {
    let schema = json!({"type": "object", "additionalProperties": {"type": "number"}});
    let arguments: serde_json::Map<String, Value> = (0..50)
        .map(|n| (format!("a{n}"), "x".repeat(10_000).into()))
        .collect();
    let told = checked(&schema, &Value::from(arguments).to_string()).unwrap_err();
    assert!(
        told.len() < 1_000 && told.ends_with("; and 45 more"),
        "{told}"
    );
}

#[test]
fn a_schema_that_cannot_be_used_checks_nothing_and_says_so() {
    for schema in [
        json!({"type": "strin"}),
        json!({"$ref": "https://example.com/schema.json"}),
        json!({"$schema": "https://example.com/dialect", "type": "object"}),
        json!({"properties": {"a": {"$ref": "#/$defs/nowhere"}}}),
    ] {
        let rules = rules(&schema);
        assert!(rules.check(r#"{"a": 1}"#.parse().unwrap()).is_ok());
        assert!(
            rules.left_out[0].starts_with("arguments are not checked"),
            "{:?}",
            rules.left_out
        );
    }
}

#[test]
fn a_pattern_that_cannot_be_used_is_left_out_alone() {
    let schema = json!({
        "type": "object",
        "properties": {"a": {"type": "string", "pattern": "("}, "b": {"type": "string", "pattern": "^\\d+$"}, "pattern": {"type": "number"}},
        "patternProperties": {"^x\\-": {"type": "number"}, "[": {"type": "number"}},
        "additionalProperties": false,
    });
    let rules = rules(&schema);
    assert_eq!(rules.left_out.len(), 2, "{:?}", rules.left_out);
    let accepted = |arguments: &str| rules.check(arguments.parse().unwrap()).is_ok();
    assert!(accepted(
        r#"{"a": "anything", "b": "12", "pattern": 1, "x-y": 1}"#
    ));
    assert!(!accepted(r#"{"a": 3}"#) && !accepted(r#"{"b": "x"}"#) && !accepted(r#"{"x-y": "n"}"#));
    // What the second pattern stood for is not known, so no other name is refused.
    assert!(accepted(r#"{"other": "n"}"#));
}

#[test]
fn patterns_of_javascript_are_understood_and_cannot_take_for_ever() {
    for (pattern, good, bad) in [
        (r"^ftp\:\/", "ftp://x", "http://x"),
        (r"^(?=.*\d)(?!.*--).+$", "a1", "a"),
        (r"^\p{L}+$", "é", "1"),
        (r"(?<=q+)z", "qqz", "z"),
        (r"^\d+$", "12", "x"),
    ] {
        let schema = json!({"properties": {"a": {"pattern": pattern}}});
        let rules = rules(&schema);
        assert!(rules.left_out.is_empty(), "{pattern}: {:?}", rules.left_out);
        let accepted = |text: &str| rules.check(json!({ "a": text }).into()).is_ok();
        assert!(accepted(good) && !accepted(bad), "{pattern}");
    }
    // Either it is refused or nobody can say; both quickly.
    let rules =
        rules(&json!({"properties": {"a": {"pattern": r"^(?=a)(a+)+$"}, "b": {"type": "string"}}}));
    let start = Instant::now();
    let long = "a".repeat(50_000) + "!";
    let _ = rules.check(json!({ "a": long }).into());
    assert!(rules.check(json!({ "a": long, "b": 3 }).into()).is_err());
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[test]
fn older_dialects_are_checked_by_their_own_rules() {
    let tuple = |dialect: &str| json!({"$schema": dialect, "properties": {"a": {"items": [{"type": "string"}]}}});
    assert!(
        checked(
            &tuple("http://json-schema.org/draft-07/schema#"),
            r#"{"a": [1]}"#
        )
        .is_err()
    );
    // Since 2020-12 a format decides nothing.
    assert!(
        checked(
            &json!({"properties": {"a": {"format": "email"}}}),
            r#"{"a": "no"}"#
        )
        .is_ok()
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn what_is_sent_is_what_was_given_without_some_nulls(arguments in value(3)) {
        let schema = json!({"type": "object", "additionalProperties": {"$ref": "#"}, "properties": {"a": {"type": ["string", "number", "object", "array"]}, "b": {}}, "items": {"$ref": "#"}});
        let given = json!({ "a": arguments, "b": null, "c": {"a": null, "b": null} });
        let Ok(sent) = rules(&schema).check(RawJson::from(&given)) else { return Ok(()) };
        prop_assert_eq!(without_nulls(sent.to_value()), without_nulls(given));
    }

    #[test]
    fn no_schema_and_no_arguments_end_in_a_panic(schema in value(4), arguments in value(4)) {
        let rules = rules(&schema);
        let _ = rules.check(RawJson::from(&arguments));
    }
}

/// Values that look like schemas as often as not.
fn value(depth: u32) -> impl Strategy<Value = Value> {
    let word = prop_oneof![
        "[a-c]",
        Just("type".to_owned()),
        Just("properties".to_owned()),
        Just("pattern".to_owned()),
        Just("anyOf".to_owned()),
        Just("patternProperties".to_owned()),
        Just("additionalProperties".to_owned()),
        Just("$ref".to_owned()),
        Just("items".to_owned()),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-c(\\[]{0,3}".prop_map(Value::from),
        Just(Value::from("object")),
        Just(Value::from("#")),
    ];
    leaf.prop_recursive(depth, 32, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((word.clone(), inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let kept = members.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(
                kept.map(|(name, value)| (name, without_nulls(value)))
                    .collect(),
            )
        }
        Value::Array(items) => items.into_iter().map(without_nulls).collect(),
        other => other,
    }
}
