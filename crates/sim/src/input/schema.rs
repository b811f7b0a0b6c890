//! A JSON Schema (draft 7, which editors know) of tables, made from the keys that their readers take.

use paceline_core::parameters::Kind as ParameterKind;
use paceline_core::queue::CLASSES;
use paceline_core::units::parse::{BufferSize, Quantity};
use paceline_core::{Bytes, Rate, Span};
use serde_json::{Map, Value, json};

use super::keys::{Key, Kind, Way};

/// A decimal number as quantities have it.
const NUMBER: &str = r"\+?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?";
/// The largest whole number of TOML.
const MOST: u64 = i64::MAX as u64;

/// The schema of a file with these keys.
pub(crate) fn schema(title: &str, description: &str, keys: &[Key]) -> Value {
    let mut definitions = Map::new();
    let mut whole = table(keys, None, &mut definitions);
    let mut schema = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": title,
        "description": description,
    });
    if let (Value::Object(schema), Value::Object(whole)) = (&mut schema, &mut whole) {
        schema.append(whole);
        schema.insert("definitions".to_owned(), Value::Object(definitions));
    }
    schema
}

/// A closed table; a tag's key has what it says alone.
fn table(keys: &[Key], tag: Option<(&str, Kind)>, definitions: &mut Map<String, Value>) -> Value {
    let mut properties = Map::new();
    let mut required: Vec<&str> = Vec::new();
    for key in keys {
        let is_tag = tag.filter(|(name, _)| *name == key.name);
        let kind = is_tag.map_or(key.kind, |(_, kind)| kind);
        properties.insert(key.name.to_owned(), described(value(kind, definitions), key.doc));
        if key.is_needed || is_tag.is_some() {
            required.push(key.name);
        }
    }
    let mut table = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    if !required.is_empty() {
        table["required"] = json!(required);
    }
    table
}

/// With a description, unless it has a nearer one; what stands beside a reference is not read in draft 7.
fn described(schema: Value, doc: &str) -> Value {
    if doc.is_empty() {
        return schema;
    }
    let mut said = json!({ "description": plain(doc) });
    match (schema, &mut said) {
        (Value::Object(schema), Value::Object(said)) if !schema.contains_key("$ref") => {
            said.extend(schema);
        }
        (schema, _) => said["allOf"] = json!([schema]),
    }
    said
}

/// Without Markdown's marks.
fn plain(doc: &str) -> String {
    doc.replace('`', "")
}

fn value(kind: Kind, definitions: &mut Map<String, Value>) -> Value {
    match kind {
        Kind::Any => json!({}),
        Kind::Text => json!({ "type": "string" }),
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::False => json!({ "const": false, "type": "boolean" }),
        Kind::Whole(least, most) if most >= MOST => json!({ "type": "integer", "minimum": least }),
        Kind::Whole(least, most) => json!({ "type": "integer", "minimum": least, "maximum": most }),
        Kind::Number(least, most) => json!({ "type": "number", "minimum": least, "maximum": most }),
        Kind::Word(words) => json!({ "type": "string", "enum": words() }),
        Kind::Spelt(words) => {
            let pattern = format!(r"^\s*({})(\s[\s\S]*)?$", any_of(&words()));
            json!({ "type": "string", "pattern": pattern })
        }
        Kind::Just(word, doc) => described(json!({ "const": word, "type": "string" }), doc),
        Kind::SpeltOut(word) => {
            json!({ "type": "string", "pattern": format!(r"^\s*{}\s+\S[\s\S]*$", escaped(word)) })
        }
        Kind::Time => quantity::<Span>("time", false, "10 ms", definitions),
        Kind::Times => quantity::<Span>("times", true, "5 ms .. 15 ms", definitions),
        Kind::Rate => quantity::<Rate>("rate", false, "100 Mbit/s", definitions),
        Kind::Rates => quantity::<Rate>("rates", true, "8 Mbit/s .. 12 Mbit/s", definitions),
        Kind::Bytes => quantity::<Bytes>("bytes", false, "5 KB", definitions),
        Kind::ByteRange => quantity::<Bytes>("byte-range", true, "1 KB .. 3 KB", definitions),
        Kind::BytesOrPackets => {
            let units = BufferSize::units().into_iter().filter(|unit| *unit != "BDP").collect();
            text_of("bytes-or-packets", units, false, "5 packets", definitions)
        }
        Kind::Buffer => quantity::<BufferSize>("buffer", false, "5 packets", definitions),
        Kind::Parameter(kind) => parameter(kind, definitions),
        Kind::List(one) => json!({ "type": "array", "items": value(*one, definitions) }),
        Kind::Tuple(all) => {
            let items: Vec<Value> = all.iter().map(|one| value(*one, definitions)).collect();
            let count = items.len();
            json!({ "type": "array", "items": items, "minItems": count, "maxItems": count })
        }
        Kind::OneOrMany(one) => one_or_many(value(*one, definitions)),
        Kind::TablesOf(keys) => one_or_many(table(keys, None, definitions)),
        Kind::Either(all) => {
            let all: Vec<Value> = all.iter().map(|one| value(*one, definitions)).collect();
            json!({ "anyOf": all })
        }
        Kind::Table(name, keys) => named(name, definitions, |definitions| table(keys, None, definitions)),
        Kind::Ways(name, ways) => named(name, definitions, |definitions| several(&ways(), definitions)),
        Kind::Open => json!({ "type": "object" }),
    }
}

fn one_or_many(one: Value) -> Value {
    json!({ "anyOf": [one, { "type": "array", "items": one }] })
}

/// A table of one of these ways: what says which is a condition, so that a fault is told where it is; the keys of all stand together too, for
/// an editor to complete.
fn several(ways: &[Way], definitions: &mut Map<String, Value>) -> Value {
    if let [way] = ways {
        return table(&way.keys, way.tag, definitions);
    }
    let mut all = Map::new();
    let mut conditions = Vec::new();
    let mut rules = Vec::new();
    for way in ways {
        let own = table(&way.keys, way.tag, definitions);
        let is_it = match way.tag {
            Some((name, kind)) => {
                let said = value(kind, definitions);
                json!({ "properties": { name: said }, "required": [name] })
            }
            None => json!({ "required": [mark_of(way, ways)] }),
        };
        for key in &way.keys {
            all.entry(key.name).or_insert_with(|| described(value(key.kind, definitions), key.doc));
        }
        rules.push(json!({ "if": is_it, "then": own }));
        conditions.push(is_it);
    }
    json!({ "type": "object", "properties": completed(all, ways), "anyOf": conditions, "allOf": rules })
}

/// What an editor completes and explains: descriptions, and the words of tags. What else is right is a matter of the way.
fn completed(all: Map<String, Value>, ways: &[Way]) -> Value {
    let tags: Vec<&str> = ways.iter().filter_map(|way| way.tag).map(|(name, _)| name).collect();
    let said = all.into_iter().map(|(name, one)| {
        let kept: &[&str] =
            if tags.contains(&name.as_str()) { &["description", "enum"] } else { &["description"] };
        let kept = kept.iter().filter_map(|key| Some(((*key).to_owned(), one.get(*key)?.clone())));
        let kept: Map<String, Value> = kept.collect();
        (name, Value::Object(kept))
    });
    Value::Object(said.collect())
}

/// A key that this way needs and no other has.
fn mark_of(way: &Way, ways: &[Way]) -> &'static str {
    let is_own = |key: &&Key| {
        let others = ways.iter().filter(|other| !std::ptr::eq(*other, way));
        key.is_needed && others.flat_map(|other| &other.keys).all(|other| other.name != key.name)
    };
    way.keys.iter().find(is_own).map_or("", |key| key.name)
}

/// What has a name is a definition, made once.
fn named(
    name: &str,
    definitions: &mut Map<String, Value>,
    make: impl FnOnce(&mut Map<String, Value>) -> Value,
) -> Value {
    if name.is_empty() {
        return make(definitions);
    }
    if !definitions.contains_key(name) {
        definitions.insert(name.to_owned(), Value::Null); // a table within itself refers to it
        let made = make(definitions);
        definitions.insert(name.to_owned(), made);
    }
    json!({ "$ref": format!("#/definitions/{name}") })
}

fn quantity<T: Quantity>(
    name: &str,
    is_range: bool,
    example: &str,
    definitions: &mut Map<String, Value>,
) -> Value {
    text_of(name, T::units(), is_range, example, definitions)
}

fn text_of(
    name: &str,
    units: Vec<&'static str>,
    is_range: bool,
    example: &str,
    definitions: &mut Map<String, Value>,
) -> Value {
    named(name, definitions, |_| {
        let one = format!(r"\s*{NUMBER}\s*({})\s*", any_of(&units));
        let range = if is_range { format!(r"(\.\.{one})?") } else { String::new() };
        let ascii: Vec<&str> = units.iter().copied().filter(|unit| unit.is_ascii()).collect();
        let description = format!("a number and a unit: {}", ascii.join(", "));
        let pattern = format!("^{one}{range}$");
        json!({ "type": "string", "pattern": pattern, "description": description, "examples": [example] })
    })
}

fn parameter(kind: ParameterKind, definitions: &mut Map<String, Value>) -> Value {
    match kind {
        ParameterKind::Rate => value(Kind::Rate, definitions),
        ParameterKind::Span => value(Kind::Time, definitions),
        ParameterKind::Bytes => value(Kind::Bytes, definitions),
        ParameterKind::Buffer => value(Kind::BytesOrPackets, definitions),
        // Both may be text, as in `pacing = "qlbp load = 0.9, …"` spelt out.
        ParameterKind::Fraction => json!({ "anyOf": [
            { "type": "number", "exclusiveMinimum": 0, "maximum": 1 },
            { "type": "string", "pattern": r"^\s*[+-]?[0-9.]+([eE][+-]?[0-9]+)?\s*$" },
        ] }),
        ParameterKind::Count => json!({ "anyOf": [
            { "type": "integer", "minimum": 0, "maximum": 1_000_000 },
            { "type": "string", "pattern": r"^\s*\+?[0-9]+\s*$" },
        ] }),
        ParameterKind::Choice(words) => json!({ "type": "string", "enum": words }),
        ParameterKind::ByClass(one) => {
            let one = parameter(*one, definitions);
            json!({ "anyOf": [one, { "type": "array", "items": one, "minItems": 1, "maxItems": CLASSES }] })
        }
    }
}

/// Any of these words, in a pattern.
fn any_of(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| escaped(word)).collect();
    words.join("|")
}

fn escaped(word: &str) -> String {
    let is_plain = |sign: char| sign.is_alphanumeric() || matches!(sign, '-' | '_' | '/');
    word.chars().map(|sign| if is_plain(sign) { sign.to_string() } else { format!("\\{sign}") }).collect()
}
