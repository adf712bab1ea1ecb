use super::*;
use crate::signatures::fields::{SIGNATURE_INPUT, dictionary};
use http::{HeaderName, HeaderValue, Request};

fn values(request: &Request<()>, identifiers: &[&str]) -> Vec<Result<String, &'static str>> {
    identifiers
        .iter()
        .map(|identifier| {
            let (name, key) = match identifier.split_once(';') {
                Some((name, key)) => (name, Some(key)),
                None => (*identifier, None),
            };
            let message = Message::received(Head::Request(request.into()));
            let mut value = String::new();
            let written = message.write_value(&Component { name, key }, &mut value);
            written.map(|()| value)
        })
        .collect()
}

#[track_caller]
fn assert_values(request: &Request<()>, expected: &[(&str, Result<&str, &'static str>)]) {
    let identifiers: Vec<&str> = expected.iter().map(|(name, _)| *name).collect();
    for ((name, expected), found) in expected.iter().zip(values(request, &identifiers)) {
        assert_eq!(found.as_deref(), expected.as_deref(), "{name}");
    }
}

#[test]
fn authorities_are_normal() {
    for (uri, authority) in [
        ("https://m.test:443/x", "m.test"),
        ("https://M.Test/x", "m.test"),
        ("https://m.test:8443/x", "m.test:8443"),
        ("https://m.test:/x", "m.test"),
        ("https://m.test:80/x", "m.test:80"),
        ("http://127.0.0.1:80/x", "127.0.0.1"),
        ("HTTP://127.0.0.1:80/x", "127.0.0.1"),
        ("http://m.test:443/x", "m.test:443"),
        ("https://[2001:DB8::1]:443/", "[2001:db8::1]"),
        ("https://[2001:DB8::1]:8443/", "[2001:db8::1]:8443"),
        ("https://[::1]/", "[::1]"),
        ("https://user:pw@m.test:8443/", "m.test:8443"),
    ] {
        let request = Request::get(uri).body(()).unwrap();
        assert_values(&request, &[("@authority", Ok(authority))]);
    }
}

#[test]
fn a_server_finds_the_authority_in_host() {
    let request = |host: &str| Request::get("/x?y").header("host", host).body(()).unwrap();
    assert_values(
        &request("M.Test:443"),
        &[
            ("@authority", Ok("m.test")),
            ("@scheme", Ok("https")),
            ("@target-uri", Ok("https://m.test/x?y")),
        ],
    );
    assert_values(&request("[::1]:8443"), &[("@authority", Ok("[::1]:8443"))]);
    let none = Request::get("/x").body(()).unwrap();
    assert_values(&none, &[("@authority", Err("the request names no host"))]);
}

#[test]
fn paths_and_queries_are_as_on_the_wire() {
    for (uri, path, query) in [
        ("https://m.test", "/", "?"),
        ("https://m.test?", "/", "?"),
        ("https://m.test/?", "/", "?"),
        ("https://m.test/a%2Fb", "/a%2Fb", "?"),
        ("https://m.test/caf%C3%A9", "/caf%C3%A9", "?"),
        ("https://m.test/a%7eb", "/a%7eb", "?"),
        ("https://m.test/a//b/", "/a//b/", "?"),
        (
            "https://m.test/a?q=caf%c3%a9+x&e=&f#z",
            "/a",
            "?q=caf%c3%a9+x&e=&f",
        ),
        ("https://m.test?x=1", "/", "?x=1"),
    ] {
        let request = Request::get(uri).body(()).unwrap();
        assert_values(&request, &[("@path", Ok(path)), ("@query", Ok(query))]);
    }
}

#[test]
fn fields_join_and_lose_the_space_around_them() {
    let request = Request::post("https://m.test/")
        .header("x-many", "  a, b ")
        .header("x-many", "\tc")
        .header("x-empty", "")
        .header("x-empty-first", "")
        .header("x-empty-first", "a")
        .header("x-dict", "a=1;x, b=?0,  c")
        .header("x-dict", "d=( 1  2 );p, a=2")
        .header("x-wide", HeaderValue::from_bytes(b"caf\xc3\xa9").unwrap())
        .header("x-list", "(1 2), (3)")
        .body(())
        .unwrap();
    assert_values(
        &request,
        &[
            ("@method", Ok("POST")),
            ("x-many", Ok("a, b, c")),
            ("x-empty", Ok("")),
            ("x-empty-first", Ok(", a")),
            ("x-absent", Err("the message has no such field")),
            ("X-Many", Err("its name is not in lower case")),
            ("x many", Err("the message has no such field")),
            ("x-wide", Err("its value is not ASCII")),
            ("x-dict;a", Ok("2")),
            ("x-dict;b", Ok("?0")),
            ("x-dict;c", Ok("?1")),
            ("x-dict;d", Ok("(1 2);p")),
            ("x-dict;e", Err("the field has no such member")),
            ("x-list;a", Err("the field is not a dictionary")),
            ("x-absent;a", Err("the message has no such field")),
            ("@method;a", Err("it has a parameter that is not supported")),
            ("@status", Err("such a message has no such component")),
            ("@query-param", Err("such a message has no such component")),
            (
                "@signature-params",
                Err("such a message has no such component"),
            ),
        ],
    );
}

fn read(input: &str) -> Result<Vec<(String, Option<String>)>, Reason> {
    let headers = HeaderMap::from_iter([(SIGNATURE_INPUT, HeaderValue::from_str(input).unwrap())]);
    let members = dictionary(&headers, &SIGNATURE_INPUT).unwrap();
    let Some(ListEntry::InnerList(list)) = members.get("s") else {
        panic!("{input}");
    };
    Ok(components(list)?
        .into_iter()
        .map(|component| {
            (
                component.name.to_owned(),
                component.key.map(ToOwned::to_owned),
            )
        })
        .collect())
}

#[test]
fn a_component_is_covered_once() {
    let covered = read(r#"s=("content-digest" "content-digest";key="sha-256")"#).unwrap();
    assert_eq!(covered.len(), 2);
    assert_eq!(
        covered[1],
        ("content-digest".to_owned(), Some("sha-256".to_owned()))
    );
    for (input, name, problem) in [
        (r#"s=("a" "b" "a")"#, "a", "it stands twice"),
        (r#"s=("a";key="x" "a";key="x")"#, "a", "it stands twice"),
        (
            r#"s=("a";sf)"#,
            "a",
            "it has a parameter that is not supported",
        ),
        (
            r#"s=("@path";req)"#,
            "@path",
            "it has a parameter that is not supported",
        ),
        (
            r#"s=("a";key=x)"#,
            "a",
            "it has a parameter that is not supported",
        ),
        ("s=(a)", "", "it is not a string"),
    ] {
        let name = name.to_owned();
        assert_eq!(
            read(input),
            Err(Reason::Identifier { name, problem }),
            "{input}"
        );
    }
    let many: Vec<String> = (0..=COMPONENT_LIMIT).map(|n| format!("\"x{n}\"")).collect();
    assert!(matches!(
        read(&format!("s=({})", many.join(" "))),
        Err(Reason::TooMuch { limit: 64, .. })
    ));
    assert_eq!(
        read(&format!("s=({})", many[1..].join(" "))).unwrap().len(),
        64
    );
}

#[test]
fn a_base_has_one_form() {
    let request = Request::get("https://m.test/a?b")
        .header("x-a", "1")
        .body(())
        .unwrap();
    let message = Message {
        head: Head::Request((&request).into()),
        content_digest: Some("sha-256=:AA==:"),
        signature_agent: Some("sig1=\"https://a.test\";type=jwks_uri"),
    };
    let components = [
        Component::named("@method"),
        Component::named("x-a"),
        Component::named("content-digest"),
        Component {
            name: "signature-agent",
            key: Some("sig1"),
        },
    ];
    let (base, start) = message
        .base(&components, |text| write_components(&components, text))
        .unwrap();
    assert_eq!(
        base,
        "\"@method\": GET\n\
         \"x-a\": 1\n\
         \"content-digest\": sha-256=:AA==:\n\
         \"signature-agent\";key=\"sig1\": \"https://a.test\";type=jwks_uri\n\
         \"@signature-params\": (\"@method\" \"x-a\" \"content-digest\" \"signature-agent\";key=\"sig1\")"
    );
    assert!(base[start..].starts_with("(\"@method\""));
    let absent = Component::named("x-absent");
    assert_eq!(
        message.base(&[absent], |_| {}),
        Err(Obstacle {
            name: "x-absent".to_owned(),
            problem: "the message has no such field"
        })
    );
}

#[test]
fn header_names_are_not_mangled() {
    // What a name is looked up by is what the signer wrote, not what a parser made of it.
    let name = HeaderName::from_static("x-a");
    let headers = HeaderMap::from_iter([(name, HeaderValue::from_static("1"))]);
    assert!(headers.contains_key("X-A"));
    let request = {
        let mut request = Request::new(());
        *request.headers_mut() = headers;
        request
    };
    assert_values(&request, &[("X-A", Err("its name is not in lower case"))]);
}
