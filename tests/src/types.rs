//! Reading generated types back from their source, to compare them with facts that were not made by
//! the generator: what exists, how it is called on the wire, when it is there, what it holds.

use crate::rules::Rule;
use crate::source::{text, type_name};
use crate::table::{Entry, Group, Table};
use std::collections::BTreeMap;
use syn::{Attribute, Expr, File, FnArg, ImplItem, Item as Source, ItemImpl, Lit, Pat, Stmt, Type};

/// A Rust type of a member, an item or a body.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ty {
    /// `wire::Value`.
    Any,
    /// `bool`.
    Boolean,
    /// `i64`.
    Integer,
    /// `f64`.
    Number,
    /// `String`.
    Text,
    /// A required member of one value: the type has no field for it.
    Constant(String),
    /// `wire::Map`.
    FreeForm,
    /// `Vec<_>`.
    List(Box<Ty>),
    /// `BTreeMap<String, _>`.
    Map(Box<Ty>),
    /// An `Option<_>` that stands for `null`.
    Nullable(Box<Ty>),
    /// `wire::OneOrMany<_>`.
    OneOrMany(Box<Ty>),
    /// A generated type.
    Named(String),
}

/// A member of a generated struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Whether reading fails without it.
    pub required: bool,
    /// What it holds; [`Ty::Nullable`] where `null` and absent differ.
    pub ty: Ty,
    /// For an integer: whether reading refuses it beyond 2^53, where JSON readers disagree.
    pub safe: bool,
    /// What its documentation says, on one line.
    pub docs: String,
    /// Whether using it warns.
    pub deprecated: bool,
}

/// A generated struct.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Struct {
    /// Its members by their names on the wire.
    pub members: BTreeMap<String, Member>,
    /// Whether members that it does not declare are kept and written back.
    pub open: bool,
    /// Members that are never shown.
    pub secrets: Vec<String>,
}

/// An arm of a generated union.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arm {
    /// The tag's value that selects it.
    pub tag: Option<String>,
    /// The members that select it.
    pub members: Vec<String>,
    /// What it holds.
    pub ty: Ty,
}

/// What a generated type is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// An object.
    Struct(Struct),
    /// Known strings, in the contract's order.
    Vocabulary(Vec<String>),
    /// One of several objects.
    Union {
        /// The member whose value decides.
        tag: Option<String>,
        /// In the order in which they are asked.
        arms: Vec<Arm>,
    },
}

/// A generated type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// What it is.
    pub shape: Shape,
    /// What its documentation says, on one line.
    pub docs: String,
    /// Whether using it warns.
    pub deprecated: bool,
    /// What it cannot hold as a type.
    pub rules: Vec<Rule>,
}

/// The bodies of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bodies {
    /// What it sends.
    pub request: Option<Ty>,
    /// What it is answered with.
    pub success: Ty,
    /// The answer that carries no resource.
    pub failure: Ty,
}

/// All types of a generated client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Types {
    /// The types by name; a client names each of them once.
    pub items: BTreeMap<String, Item>,
    /// The bodies by `operationId`.
    pub bodies: BTreeMap<String, Bodies>,
}

impl Types {
    /// Reads a generated client.
    ///
    /// # Panics
    ///
    /// When the source is not what the generator writes, or does not agree with itself.
    #[must_use]
    pub fn read(file: &File) -> Self {
        let mut types = Self::default();
        let modules = file.items.iter().filter_map(|item| match item {
            Source::Mod(module) if module.ident != "operations" => module.content.as_ref(),
            _ => None,
        });
        for (_, items) in modules {
            types.read_module(items);
        }
        types.read_bodies(file);
        types
    }

    /// A type by name.
    #[must_use]
    pub fn shape(&self, ty: &Ty) -> Option<&Shape> {
        match ty {
            Ty::Named(name) => self.items.get(name).map(|item| &item.shape),
            _ => None,
        }
    }

    fn read_module(&mut self, items: &[Source]) {
        let mut declared: BTreeMap<String, (&Source, &[Attribute])> = BTreeMap::new();
        for item in items {
            let (name, attributes) = match item {
                Source::Struct(item) => (item.ident.to_string(), &item.attrs),
                Source::Enum(item) => (item.ident.to_string(), &item.attrs),
                _ => continue,
            };
            declared.insert(name, (item, attributes));
        }
        let tables = items.iter().filter_map(|item| match item {
            Source::Macro(item) => Table::read(&item.mac),
            _ => None,
        });
        let mut found: Vec<(String, Shape, Vec<Rule>)> = Vec::new();
        for table in tables {
            let name = table.name.to_string();
            let own = inherent(items, &name);
            found.push(match (table.of.as_str(), declared.get(&name)) {
                ("object", Some((Source::Struct(item), _))) => {
                    let shape = Shape::Struct(structure(item, &table, &own));
                    (
                        name,
                        shape,
                        fact(&table, &own, "RULES")
                            .map(Rule::read)
                            .unwrap_or_default(),
                    )
                }
                ("vocabulary", Some((Source::Enum(item), _))) => {
                    let values = vocabulary(item, &table);
                    (name, Shape::Vocabulary(values), Vec::new())
                }
                ("setters", Some((Source::Struct(item), _))) => {
                    setters(item, &table);
                    continue;
                }
                (of, _) => panic!("{of}!({name}) is about no type of its kind"),
            });
        }
        for implementation in items {
            let Source::Impl(implementation) = implementation else {
                continue;
            };
            let name = type_name(&implementation.self_ty);
            let of = implementation.trait_.as_ref();
            let of = of.and_then(|(path, _)| path.segments.last());
            if let Some((Source::Enum(item), _)) = declared.get(&name)
                && of.is_some_and(|of| of.ident == "Union")
            {
                let rules = constant(implementation, "RULES").map(Rule::read);
                found.push((name, union(item, implementation), rules.unwrap_or_default()));
            }
        }
        for (name, shape, rules) in found {
            let attributes = declared.get(&name).map_or(&[][..], |(_, all)| *all);
            let item = Item {
                shape,
                docs: docs(attributes),
                deprecated: deprecated(attributes),
                rules,
            };
            assert!(
                self.items.insert(name.clone(), item).is_none(),
                "{name} exists twice"
            );
        }
        for name in declared.keys() {
            assert!(self.items.contains_key(name), "{name} is on no wire");
        }
    }

    fn read_bodies(&mut self, file: &File) {
        let mut requests = requests(file);
        let operations = file.items.iter().find_map(|item| match item {
            Source::Mod(module) if module.ident == "operations" => module.content.as_ref(),
            _ => None,
        });
        for item in operations.into_iter().flat_map(|(_, items)| items) {
            let Source::Impl(item) = item else { continue };
            let (mut id, mut success, mut failure) = (None, None, None);
            for item in &item.items {
                match item {
                    ImplItem::Const(constant) if constant.ident == "OPERATION" => {
                        id = operation_id(&constant.expr);
                    }
                    ImplItem::Type(alias) if alias.ident == "Success" || alias.ident == "Body" => {
                        success = Some(ty(&alias.ty));
                    }
                    ImplItem::Type(alias) if alias.ident == "Failure" => {
                        failure = Some(ty(&alias.ty));
                    }
                    _ => {}
                }
            }
            if let (Some(id), Some(success)) = (id, success) {
                let bodies = Bodies {
                    request: requests.remove(&type_name(&item.self_ty)),
                    success,
                    failure: failure.unwrap_or(Ty::Any),
                };
                self.bodies.insert(id, bodies);
            }
        }
    }
}

/// The third argument of `&Operation::new(…)`, or of `&Operation::new(…).changing(…)`.
fn operation_id(expression: &Expr) -> Option<String> {
    match expression {
        Expr::Reference(reference) => operation_id(&reference.expr),
        Expr::MethodCall(call) => operation_id(&call.receiver),
        Expr::Call(call) => call.args.iter().nth(2).map(text),
        _ => None,
    }
}

/// What the client's methods send, by the type that stands for the operation.
fn requests(file: &File) -> BTreeMap<String, Ty> {
    let mut found = BTreeMap::new();
    let methods = file.items.iter().filter_map(|item| match item {
        Source::Impl(item) if type_name(&item.self_ty) == "Client" => Some(&item.items),
        _ => None,
    });
    for method in methods.flatten() {
        let ImplItem::Fn(method) = method else {
            continue;
        };
        let body = method.sig.inputs.iter().find_map(|input| match input {
            FnArg::Typed(typed) => match (&*typed.pat, &*typed.ty) {
                (Pat::Ident(name), Type::ImplTrait(of)) if name.ident == "body" => {
                    of.bounds.iter().find_map(|bound| match bound {
                        syn::TypeParamBound::Trait(bound) => argument(&bound.path, 0),
                        _ => None,
                    })
                }
                _ => None,
            },
            FnArg::Receiver(_) => None,
        });
        let marker = match &method.sig.output {
            syn::ReturnType::Type(_, of) => match &**of {
                Type::Path(path) => argument(&path.path, 0).map(type_name),
                _ => None,
            },
            syn::ReturnType::Default => None,
        };
        if let (Some(marker), Some(body)) = (marker, body) {
            found.insert(marker, ty(body));
        }
    }
    found
}

/// A type argument of the last step of a path.
fn argument(path: &syn::Path, index: usize) -> Option<&Type> {
    match &path.segments.last()?.arguments {
        syn::PathArguments::AngleBracketed(arguments) => {
            arguments.args.iter().nth(index).and_then(|argument| {
                if let syn::GenericArgument::Type(of) = argument {
                    Some(of)
                } else {
                    None
                }
            })
        }
        _ => None,
    }
}

/// A type as it is written in generated source.
fn ty(of: &Type) -> Ty {
    let Type::Path(path) = of else {
        panic!("not a type that the generator writes")
    };
    let inner = |index| {
        argument(&path.path, index)
            .map_or_else(|| panic!("no type argument"), |of| Box::new(ty(of)))
    };
    match type_name(of).as_str() {
        "Value" => Ty::Any,
        "bool" => Ty::Boolean,
        "i64" => Ty::Integer,
        "f64" => Ty::Number,
        "String" => Ty::Text,
        "Map" => Ty::FreeForm,
        "Vec" => Ty::List(inner(0)),
        "BTreeMap" => Ty::Map(inner(1)),
        "Option" => Ty::Nullable(inner(0)),
        "OneOrMany" => Ty::OneOrMany(inner(0)),
        "Box" => *inner(0),
        name => Ty::Named(name.to_owned()),
    }
}

fn docs(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| {
        let syn::Meta::NameValue(pair) = &attribute.meta else {
            return None;
        };
        pair.path.is_ident("doc").then(|| text(&pair.value))
    });
    let lines: Vec<String> = lines.map(|line| line.trim().to_owned()).collect();
    lines.join(" ")
}

fn deprecated(attributes: &[Attribute]) -> bool {
    attributes
        .iter()
        .any(|attribute| attribute.path().is_ident("deprecated"))
}

fn function<'i>(implementation: &'i ItemImpl, name: &str) -> &'i [Stmt] {
    implementation
        .items
        .iter()
        .find_map(|item| match item {
            ImplItem::Fn(function) if function.sig.ident == name => {
                Some(function.block.stmts.as_slice())
            }
            _ => None,
        })
        .unwrap_or_default()
}

fn constant<'i>(implementation: &'i ItemImpl, name: &str) -> Option<&'i Expr> {
    implementation.items.iter().find_map(|item| match item {
        ImplItem::Const(constant) if constant.ident == name => Some(&constant.expr),
        _ => None,
    })
}

/// A constant list of strings; empty when it is not there.
fn strings(implementation: &ItemImpl, name: &str) -> Vec<String> {
    let Some(Expr::Reference(reference)) = constant(implementation, name) else {
        return Vec::new();
    };
    let Expr::Array(array) = &*reference.expr else {
        panic!("{name} is not a list")
    };
    array.elems.iter().map(text).collect()
}

/// The constants of a type that belong to no trait.
fn inherent<'i>(items: &'i [Source], name: &str) -> Vec<&'i ItemImpl> {
    let implementations = items.iter().filter_map(|item| match item {
        Source::Impl(item) if item.trait_.is_none() && type_name(&item.self_ty) == name => {
            Some(item)
        }
        _ => None,
    });
    implementations.collect()
}

/// A constant of a type, which is there exactly where its table names it.
fn fact<'i>(table: &Table, own: &[&'i ItemImpl], name: &str) -> Option<&'i Expr> {
    let found = own.iter().find_map(|item| constant(item, name));
    let named = table.facts.iter().any(|fact| fact == name);
    assert_eq!(found.is_some(), named, "{}: {name}", table.name);
    found
}

/// The fields that the struct has, as its table reads and writes them.
fn structure(item: &syn::ItemStruct, table: &Table, own: &[&ItemImpl]) -> Struct {
    let name = &item.ident;
    let mut fields: BTreeMap<String, (&syn::Field, Ty)> = BTreeMap::new();
    for field in &item.fields {
        let ident = field.ident.as_ref().map(ToString::to_string);
        fields.insert(ident.unwrap_or_default(), (field, ty(&field.ty)));
    }
    let secrets = fact(table, own, "SECRETS").is_some();
    let mut found = Struct {
        // The table keeps what it does not name there.
        open: matches!(fields.remove("extra"), Some((_, Ty::FreeForm))),
        secrets: own
            .iter()
            .filter(|_| secrets)
            .flat_map(|item| strings(item, "SECRETS"))
            .collect(),
        ..Struct::default()
    };
    for group in &table.groups {
        let how = group.how.as_str();
        for entry in &group.entries {
            let (wire, member) = match entry {
                Entry::Constant(wire, value) => {
                    assert_eq!(how, "constant", "{name}");
                    let member = Member {
                        required: true,
                        ty: Ty::Constant(value.clone()),
                        safe: false,
                        docs: String::new(),
                        deprecated: false,
                    };
                    (wire.clone(), member)
                }
                Entry::Name(ident, wire) => {
                    let Some((field, of)) = fields.remove(ident) else {
                        panic!("{name}.{ident} is read and not declared")
                    };
                    let (required, ty) = match (how, of) {
                        ("required" | "safe", of) => (true, of),
                        ("optional" | "optional_safe", Ty::Nullable(of)) => (false, *of),
                        ("nullable", Ty::Nullable(of)) if matches!(*of, Ty::Nullable(_)) => {
                            (false, *of)
                        }
                        (how, of) => panic!("{name}.{ident} is {of:?} and read as {how}"),
                    };
                    let safe = matches!(how, "safe" | "optional_safe");
                    assert!(!safe || ty == Ty::Integer, "{name}.{ident} is no integer");
                    let member = Member {
                        required,
                        ty,
                        safe,
                        docs: docs(&field.attrs),
                        deprecated: deprecated(&field.attrs),
                    };
                    (wire.as_ref().unwrap_or(ident).clone(), member)
                }
                Entry::Nested(group) => panic!("{name}: {} among members", group.how),
            };
            assert!(
                found.members.insert(wire.clone(), member).is_none(),
                "{name} reads `{wire}` twice"
            );
        }
    }
    assert!(
        fields.is_empty(),
        "{name}: {:?} are not read",
        fields.keys()
    );
    found
}

/// That each setter of the table is of a field, and takes what the field holds.
fn setters(item: &syn::ItemStruct, table: &Table) {
    let name = &item.ident;
    let check = |group: &Group, list: bool| {
        for entry in &group.entries {
            let Entry::Name(ident, _) = entry else {
                panic!("{name}: a setter without a field")
            };
            let field = item
                .fields
                .iter()
                .find(|field| field.ident.as_ref().is_some_and(|name| name == ident));
            let of = match group.how.as_str() {
                "String" => Ty::Text,
                "bool" => Ty::Boolean,
                "i64" => Ty::Integer,
                "f64" => Ty::Number,
                other => Ty::Named(other.to_owned()),
            };
            let of = if list { Ty::List(Box::new(of)) } else { of };
            let of = Ty::Nullable(Box::new(of));
            assert_eq!(field.map(|field| ty(&field.ty)), Some(of), "{name}.{ident}");
        }
    };
    for group in &table.groups {
        if group.how != "list" {
            check(group, false);
            continue;
        }
        for entry in &group.entries {
            let Entry::Nested(group) = entry else {
                panic!("{name}: a list of nothing")
            };
            check(group, true);
        }
    }
}

/// The strings of a vocabulary. The table must name the arms that are there.
fn vocabulary(item: &syn::ItemEnum, table: &Table) -> Vec<String> {
    let name = &item.ident;
    let (mut arms, mut values) = (Vec::new(), Vec::new());
    for entry in table.groups.iter().flat_map(|group| &group.entries) {
        let Entry::Name(arm, Some(value)) = entry else {
            panic!("{name}: an arm without a string")
        };
        arms.push(arm.clone());
        values.push(value.clone());
    }
    arms.push("Unknown".to_owned());
    let declared: Vec<String> = item
        .variants
        .iter()
        .map(|variant| variant.ident.to_string())
        .collect();
    assert_eq!(declared, arms, "{name}");
    values
}

fn last(path: &syn::Path) -> String {
    path.segments
        .last()
        .map(|last| last.ident.to_string())
        .unwrap_or_default()
}

/// `Error` for `Self::Error`.
fn variant(expression: &Expr) -> String {
    match expression {
        Expr::Path(path) => last(&path.path),
        _ => panic!("not an arm"),
    }
}

/// The arm that `Some(|value, reader| wire::Read::read(value, reader).map(Self::Error))` reads.
fn selected(expression: &Expr) -> String {
    match expression {
        Expr::Block(block) => match block.block.stmts.as_slice() {
            [Stmt::Expr(inner, None)] => selected(inner),
            _ => panic!("an arm is one expression"),
        },
        Expr::Call(some) => match some.args.first() {
            Some(Expr::Closure(closure)) => closure_arm(&closure.body),
            _ => panic!("an arm is read by a closure"),
        },
        _ => panic!("not the choice of an arm"),
    }
}

fn closure_arm(body: &Expr) -> String {
    match body {
        Expr::Block(block) => match block.block.stmts.as_slice() {
            [Stmt::Expr(inner, None)] => closure_arm(inner),
            _ => panic!("an arm is one expression"),
        },
        Expr::MethodCall(map) => map.args.first().map(variant).unwrap_or_default(),
        _ => panic!("an arm is not mapped"),
    }
}

/// The member names of `wire::has(value, "a") && wire::has(value, "b")`.
fn tested(condition: &Expr) -> Vec<String> {
    match condition {
        Expr::Binary(both) => {
            let mut names = tested(&both.left);
            names.extend(tested(&both.right));
            names
        }
        Expr::Call(has) => has.args.iter().nth(1).map(text).into_iter().collect(),
        _ => panic!("not a test for members"),
    }
}

fn union(item: &syn::ItemEnum, implementation: &ItemImpl) -> Shape {
    let name = &item.ident;
    let mut held: BTreeMap<String, Ty> = BTreeMap::new();
    for variant in &item.variants {
        let of = variant.fields.iter().next().map(|field| &field.ty);
        let Some(of) = of else {
            panic!("{name}: an arm without a value")
        };
        if variant.ident == "Unknown" {
            assert_eq!(type_name(of), "UnknownObject", "{name}");
        } else {
            held.insert(variant.ident.to_string(), ty(of));
        }
    }
    let mut found = Vec::new();
    let mut decided_by = None;
    let mut arm = |variant: String, tag: Option<String>, members: Vec<String>| {
        let Some(ty) = held.get(&variant) else {
            panic!("{name} has no arm {variant}")
        };
        found.push((
            variant,
            Arm {
                tag,
                members,
                ty: ty.clone(),
            },
        ));
    };
    for statement in function(implementation, "select") {
        match statement {
            Stmt::Expr(Expr::Match(of), None) => {
                if let Expr::Try(tag) = &*of.expr
                    && let Expr::Call(tag) = &*tag.expr
                {
                    decided_by = tag.args.iter().nth(1).map(text);
                }
                for choice in &of.arms {
                    if let Pat::Lit(literal) = &choice.pat
                        && let Lit::Str(tag) = &literal.lit
                    {
                        arm(selected(&choice.body), Some(tag.value()), Vec::new());
                    }
                }
            }
            Stmt::Expr(Expr::If(test), _) => match test.then_branch.stmts.as_slice() {
                [Stmt::Expr(Expr::Return(done), _)] => {
                    let chosen = done.expr.as_deref().map(selected).unwrap_or_default();
                    arm(chosen, None, tested(&test.cond));
                }
                _ => panic!("{name}: a test returns"),
            },
            Stmt::Expr(Expr::Path(_), None) => {}
            Stmt::Expr(expression, None) => arm(selected(expression), None, Vec::new()),
            _ => panic!("{name}: not a choice of an arm"),
        }
    }
    for variant in held.keys() {
        assert!(
            found.iter().any(|(chosen, _)| chosen == variant),
            "{name}::{variant} is never chosen"
        );
    }
    Shape::Union {
        tag: decided_by,
        arms: found.into_iter().map(|(_, arm)| arm).collect(),
    }
}
