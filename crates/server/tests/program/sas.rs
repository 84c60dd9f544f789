//! `lazuli sas`: what would open nothing is refused at once.

use crate::support::{refused, succeed};

const KEY: [&str; 4] = ["--account", "mine", "--account-key", "AQI="];

fn sas(arguments: &str) -> Vec<&str> {
    ["sas"].into_iter().chain(arguments.split(' ')).chain(KEY).collect()
}

#[test]
fn letters_expiry_and_url_are_checked() {
    let table = [
        ("blob boxes cat --permissions rl --expiry 1h", "'l'"),
        ("container boxes --permissions z --expiry 1h", "i immutability"),
        ("queue jobs --permissions rw --expiry 1h", "r read, a add, u update, p process"),
        ("table People --permissions rp --expiry 1h", "r query, a add, u update, d delete"),
        ("share docs --permissions x --expiry 1h", "l list"),
        ("file docs a/b --permissions l --expiry 1h", "d delete"),
        ("account --permissions rq --expiry 1h", "'q'"),
        ("account --permissions r --services bx --expiry 1h", "b blob, q queue, t table, f file"),
        ("account --permissions r --resource-types x --expiry 1h", "s service, c container, o object"),
        ("blob boxes cat --permissions r --expiry 2020-01-01T00:00:00Z", "is over"),
        ("blob boxes cat --permissions r --expiry 0m", "is over"),
        ("blob boxes cat --permissions r --expiry soon", "--expiry: \"soon\""),
        ("blob boxes cat --permissions r --start 3h --expiry 2h", "--start is not before"),
        ("blob boxes cat --permissions r --start x --expiry 2h", "--start: \"x\""),
        ("blob boxes cat --permissions r", "--expiry is needed"),
        ("blob boxes cat --expiry 1h", "--permissions is needed"),
        ("account --permissions r", "--expiry is needed"),
        ("blob boxes cat --permissions r --expiry 1h --ip x", "sip"),
        ("blob boxes cat --permissions r --expiry 1h --url 127.0.0.1:4711/mine", "--url"),
        ("blob boxes cat --permissions r --expiry 1h --url http://127.0.0.1:4711", "http://HOST/mine"),
        (
            "blob boxes cat --permissions r --expiry 1h --url http://127.0.0.1:4711/other",
            "no endpoint of the account mine",
        ),
        ("blob boxes cat --permissions r --expiry 1h --url http://x.y/mine?a=b", "a query of its own"),
        ("blob boxes cat --permissions r --expiry 1h --protocol https --url http://x.y/mine", "--protocol https"),
    ];
    for (arguments, word) in table {
        let (code, line) = refused(&sas(arguments));
        assert_eq!((code, line.lines().count()), (2, 1), "{arguments}: {line}");
        assert!(line.contains(word), "{arguments}: {line}");
    }
}

#[test]
fn each_kind_has_only_its_flags() {
    let table = [
        "account --permissions r --expiry 1h --policy p",
        "account --permissions r --expiry 1h --content-type text/plain",
        "queue jobs --permissions r --expiry 1h --content-type text/plain",
        "table People --permissions r --expiry 1h --cache-control no-cache",
        "container boxes --permissions r --expiry 1h --services b",
        "blob boxes cat --permissions r --expiry 1h --start-partition a",
        "blob boxes cat --permissions r --expiry 1h --resource-types o",
    ];
    for arguments in table {
        let (code, line) = refused(&sas(arguments));
        assert!(code == 2 && line.contains("unexpected argument"), "{arguments}: {line}");
    }
    let fine = [
        "account --permissions rl --expiry 1h",
        "container boxes --policy readers",
        "container boxes --permissions rl --expiry 1h --content-type text/plain",
        "blob boxes cat --permissions r --expiry 1h --start 0m --protocol https --content-disposition inline",
        "queue jobs --permissions pr --expiry 7d --policy p",
        "table People --permissions r --expiry 1h --start-partition a --end-partition b",
        "share docs --permissions rl --expiry 1h --cache-control no-cache",
        "file docs a/b --permissions r --expiry 1h",
    ];
    for arguments in fine {
        assert!(succeed(&sas(arguments)).contains("sig="), "{arguments}");
    }
}

#[test]
fn letters_are_signed_in_their_order() {
    assert!(succeed(&sas("container boxes --permissions lwr --expiry 1h")).contains("sp=rwl&"));
    assert!(succeed(&sas("account --permissions rwdlacutf --services qb --expiry 1h")).contains("ss=bq&"));
    let url = succeed(&sas("blob boxes a/cat --permissions r --expiry 1h --url http://mine.blob.localhost:4711/"));
    assert!(url.starts_with("http://mine.blob.localhost:4711/boxes/a/cat?"), "{url}");
}
