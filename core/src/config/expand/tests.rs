use proptest::prelude::*;

use super::*;
use crate::config::FixedEnvironment;

fn environment() -> Environment {
    let variables = [
        ("A", "alpha"),
        ("B", "beta"),
        ("EMPTY", ""),
        ("NESTED", "${A} $A ~/ $$ !x"),
        ("HOME", "/home/me"),
        ("ProgramFiles(x86)", "C:\\P"),
    ];
    Environment::read(&variables.into_iter().collect::<FixedEnvironment>())
        .with_platform(Platform::Posix)
}

fn expanded(template: &str, grammar: Grammar) -> Result<(String, Vec<Hint>), String> {
    expand(template, grammar, &environment())
        .map(|expanded| (expanded.text, expanded.hints.into_iter().collect()))
        .map_err(|error| error.to_string())
}

#[test]
fn the_grammar_is_the_same_in_every_field_but_for_a_bare_dollar() {
    use Hint::{BareDollar, Braces, EditorVariable, Percent, Unclosed, UnknownForm};
    let cases: &[(&str, &str, &[Hint])] = &[
        ("${A}", "alpha", &[]),
        ("a${A}b${B}c", "aalphabbetac", &[]),
        ("${env:A}", "alpha", &[]),
        ("${A:-d}", "alpha", &[]),
        ("${A:-}", "alpha", &[]),
        ("${NO:-d}", "d", &[]),
        ("${NO:-}", "", &[]),
        ("${EMPTY:-d}", "d", &[]),
        ("[${EMPTY}]", "[]", &[]),
        ("${env:NO:-d}", "d", &[]),
        ("${A:-${B}}", "alpha", &[]),
        ("${NO:-${B}}", "beta", &[]),
        ("${NO:-x${NO:-${B}y}z}", "xbetayz", &[]),
        ("${NO:-$$}", "$", &[]),
        ("${NO:-a:-b-}", "a:-b-", &[]),
        ("${ProgramFiles(x86)}", "C:\\P", &[]),
        ("$$", "$", &[]),
        ("$$A", "$A", &[]),
        ("$${A}", "${A}", &[]),
        ("$$$${A}", "$${A}", &[]),
        ("100$", "100$", &[]),
        ("a$1 $- $ b", "a$1 $- $ b", &[]),
        ("${NESTED}", "${A} $A ~/ $$ !x", &[]),
        ("${A-d}", "${A-d}", &[UnknownForm]),
        ("${input:x}", "${input:x}", &[UnknownForm]),
        ("${}", "${}", &[UnknownForm]),
        ("${A B}", "${A B}", &[UnknownForm]),
        ("${1}", "${1}", &[UnknownForm]),
        (
            "${workspaceFolder}/sub",
            "${workspaceFolder}/sub",
            &[EditorVariable],
        ),
        (
            "${workspaceFolder:name}",
            "${workspaceFolder:name}",
            &[EditorVariable],
        ),
        ("${userHome}", "${userHome}", &[EditorVariable]),
        ("${", "${", &[Unclosed]),
        ("${A", "${A", &[Unclosed]),
        ("${x ${A}", "${x alpha", &[Unclosed]),
        ("%A%", "%A%", &[Percent]),
        ("50% of %d", "50% of %d", &[]),
        ("{{A}}", "{{A}}", &[Braces]),
        ("{{ A }}", "{{ A }}", &[Braces]),
        ("{\"a\": {}}", "{\"a\": {}}", &[]),
    ];
    for (template, text, hints) in cases {
        for grammar in [
            Grammar::Value,
            Grammar::Word,
            Grammar::Directory,
            Grammar::Address,
        ] {
            let result = expanded(template, grammar).unwrap();
            assert_eq!(
                result,
                ((*text).to_owned(), hints.to_vec()),
                "{template} as {grammar:?}"
            );
        }
    }
    assert_eq!(
        expanded("$A/$B", Grammar::Value).unwrap(),
        ("alpha/beta".to_owned(), Vec::new())
    );
    assert_eq!(
        expanded("$A/$B", Grammar::Word).unwrap(),
        ("$A/$B".to_owned(), vec![BareDollar])
    );
}

#[test]
fn an_unset_variable_without_a_default_is_an_error_that_names_it() {
    let message = "variable NO is not set; set it, or write ${NO:-default}, or $$ for a dollar";
    for template in ["${NO}", "x${env:NO}", "$NO", "${NOPE:-${NO}}"] {
        assert_eq!(
            expanded(template, Grammar::Value),
            Err(message.to_owned()),
            "{template}"
        );
    }
    assert!(
        expanded("${A:-${NO}}", Grammar::Value).is_ok(),
        "a default that is not needed is not read"
    );
}

#[test]
fn the_home_directory_is_inserted_at_the_beginning_only() {
    let cases = [
        ("~/x", "/home/me/x", "/home/me/x", "~/x"),
        ("~", "~", "/home/me", "~"),
        ("--dir=~/x", "--dir=~/x", "--dir=~/x", "--dir=~/x"),
        ("a~b", "a~b", "a~b", "a~b"),
        ("~other/x", "~other/x", "~other/x", "~other/x"),
        ("~/${A}", "/home/me/alpha", "/home/me/alpha", "~/alpha"),
    ];
    for (template, word, directory, value) in cases {
        assert_eq!(expanded(template, Grammar::Word).unwrap().0, word);
        assert_eq!(expanded(template, Grammar::Directory).unwrap().0, directory);
        assert_eq!(expanded(template, Grammar::Value).unwrap().0, value);
    }
    assert_eq!(
        expanded("~other/x", Grammar::Word).unwrap().1,
        [Hint::OtherHome]
    );
    let nowhere = Environment::read(&FixedEnvironment::default()).with_platform(Platform::Posix);
    let error = expand("~/x", Grammar::Word, &nowhere).err().unwrap();
    assert_eq!(error.to_string(), "~ needs a home directory; set HOME");
}

#[test]
fn by_contract_a_header_knows_only_one_form_and_an_unset_variable_is_empty() {
    let cases: &[(&str, &str, &[Hint])] = &[
        ("Bearer ${A}", "Bearer alpha", &[]),
        ("[${NO}]", "[]", &[]),
        ("$$ ${NESTED}", "$$ ${A} $A ~/ $$ !x", &[]),
        ("${A:-d}", "${A:-d}", &[Hint::ContractOnly]),
        ("${env:A}", "${env:A}", &[Hint::ContractOnly]),
        ("$A", "$A", &[Hint::ContractOnly]),
    ];
    for (template, text, hints) in cases {
        let result = expanded(template, Grammar::HeaderOfContract).unwrap();
        assert_eq!(result, ((*text).to_owned(), hints.to_vec()), "{template}");
    }
}

#[test]
fn only_a_lone_reference_is_bare() {
    for bare in ["${A}", "$A", "${env:A}", "${ProgramFiles(x86)}"] {
        assert!(is_bare_reference(bare), "{bare}");
    }
    for other in [
        "", "$", "A", "${A:-d}", "x${A}", "${A}x", "${A}${B}", "$A$B", "${A B}", "${}", "$$A",
    ] {
        assert!(!is_bare_reference(other), "{other}");
    }
}

#[test]
fn many_open_braces_cost_no_more_than_their_length() {
    let hostile = "${".repeat(200_000);
    assert_eq!(expanded(&hostile, Grammar::Value).unwrap().0, hostile);
    let nested = format!("{}x{}", "${NO:-".repeat(20_000), "}".repeat(20_000));
    assert!(
        expanded(&nested, Grammar::Value)
            .unwrap()
            .0
            .starts_with("${NO:-")
    );
}

proptest! {
    #[test]
    fn any_text_is_expanded_without_a_panic(template in "[${}:\\-~%A-C env/!ä]{0,40}") {
        for grammar in [Grammar::Value, Grammar::Word, Grammar::Directory, Grammar::Address, Grammar::HeaderOfContract] {
            let _ = expand(&template, grammar, &environment());
        }
    }

    #[test]
    fn an_inserted_value_is_never_read_again(value in "[${}:\\-~A-C!%]{0,30}", around in "[a-z/]{0,5}") {
        let host: FixedEnvironment = [("V", value.as_str()), ("A", "SEEN")].into_iter().collect();
        let host = Environment::read(&host).with_platform(Platform::Posix);
        for template in ["${V}", "$V", "${env:V}", "${NO:-${V}}"] {
            let template = format!("{around}{template}/{around}");
            let expanded = expand(&template, Grammar::Value, &host).unwrap();
            prop_assert_eq!(expanded.text, format!("{around}{value}/{around}"));
        }
    }
}
