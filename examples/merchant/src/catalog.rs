//! What the merchant sells: search, lookup and product detail over a dozen products.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::answer::Answer;

/// The only currency of the sandbox.
pub(crate) const CURRENCY: &str = "USD";
const PAGE: usize = 10;
const LARGEST_PAGE: u64 = 50;
const LARGEST_LOOKUP: usize = 50;

/// A product with its variants.
#[derive(Debug, Clone)]
pub(crate) struct Product {
    id: &'static str,
    title: &'static str,
    description: &'static str,
    category: &'static str,
    tags: &'static [&'static str],
    /// Names of the option axes, in the order of a variant's labels.
    options: &'static [&'static str],
    /// Whether it is delivered without a parcel.
    pub(crate) digital: bool,
    variants: Vec<Variant>,
}

/// What can be bought.
#[derive(Debug, Clone)]
pub(crate) struct Variant {
    pub(crate) id: String,
    sku: String,
    labels: &'static [&'static str],
    /// Minor units.
    pub(crate) price: i64,
}

/// The products and what is left of each variant.
#[derive(Debug)]
pub(crate) struct Catalog {
    origin: String,
    products: Vec<Product>,
    stock: BTreeMap<String, i64>,
}

impl Catalog {
    pub(crate) fn new(origin: &str) -> Self {
        let products = products();
        let stock = products
            .iter()
            .flat_map(|product| &product.variants)
            .map(|variant| {
                // One variant is sold out from the start, so that availability has two values.
                let left = if variant.id == "var_tee_red_s" {
                    0
                } else {
                    100
                };
                (variant.id.clone(), left)
            })
            .collect();
        Catalog {
            origin: origin.to_owned(),
            products,
            stock,
        }
    }

    /// The variant that a line item names.
    pub(crate) fn variant(&self, id: &str) -> Option<(&Product, &Variant)> {
        self.products.iter().find_map(|product| {
            let variant = product.variants.iter().find(|variant| variant.id == id)?;
            Some((product, variant))
        })
    }

    pub(crate) fn stock(&self, variant: &str) -> i64 {
        self.stock.get(variant).copied().unwrap_or(0)
    }

    pub(crate) fn set_stock(&mut self, variant: &str, left: i64) {
        self.stock.insert(variant.to_owned(), left);
    }

    /// Where a product's picture is: [`crate::page`] draws it.
    fn image(&self, product: &Product) -> String {
        format!("{}/images/{}.svg", self.origin, product.id)
    }

    /// The title of a product.
    pub(crate) fn title(&self, id: &str) -> Option<&'static str> {
        let product = self.products.iter().find(|product| product.id == id)?;
        Some(product.title)
    }

    /// The `item` of a line.
    pub(crate) fn item(&self, product: &Product, variant: &Variant) -> Value {
        json!({
            "id": variant.id,
            "title": product.variant_title(variant),
            "price": variant.price,
            "image_url": self.image(product),
        })
    }

    /// `POST /catalog/search`.
    pub(crate) fn search(&self, request: &Value, ucp: Value) -> Answer {
        let words: Vec<String> = request["query"]
            .as_str()
            .unwrap_or_default()
            .split_whitespace()
            .map(str::to_lowercase)
            .collect();
        let found: Vec<(&Product, Vec<&Variant>)> = self
            .products
            .iter()
            .filter(|product| product.matches(&words))
            .filter_map(|product| filtered(product, &request["filters"]))
            .collect();

        let page = &request["pagination"];
        let Some(start) = page["cursor"].as_str().map_or(Some(0), offset) else {
            return Answer::invalid("/pagination/cursor", "not a cursor of this merchant");
        };
        // A page of more than a `u64` is a page of the largest size.
        let size = page.get("limit").map_or(PAGE, |limit| {
            limit.as_u64().unwrap_or(LARGEST_PAGE).min(LARGEST_PAGE) as usize
        });
        let end = start.saturating_add(size).min(found.len());
        let products: Vec<Value> = found
            .iter()
            .skip(start)
            .take(size)
            .map(|(product, variants)| {
                self.describe(
                    product,
                    variants.iter().map(|v| self.describe_variant(product, v)),
                )
            })
            .collect();
        let mut pagination = json!({
            "has_next_page": end < found.len(),
            "total_count": found.len(),
        });
        if end < found.len() {
            pagination["cursor"] = json!(cursor(end));
        }
        Answer::ok(json!({ "ucp": ucp, "products": products, "pagination": pagination }))
    }

    /// `POST /catalog/lookup`.
    pub(crate) fn lookup(&self, request: &Value, ucp: Value) -> Answer {
        let mut ids: Vec<&str> = Vec::new();
        for id in request["ids"].as_array().into_iter().flatten() {
            if let Some(id) = id.as_str()
                && !ids.contains(&id)
            {
                ids.push(id);
            }
        }
        if ids.len() > LARGEST_LOOKUP {
            let content = format!("at most {LARGEST_LOOKUP} identifiers at once");
            return Answer::refused(400, "request_too_large", &content);
        }

        let mut unknown = ids.clone();
        let mut products = Vec::new();
        for product in &self.products {
            let Some((_, allowed)) = filtered(product, &request["filters"]) else {
                unknown.retain(|id| !product.answers_to(id));
                continue;
            };
            let mut variants = Vec::new();
            for (place, variant) in product.variants.iter().enumerate() {
                let mut inputs = Vec::new();
                for id in &ids {
                    if variant.id == *id || variant.sku == *id {
                        inputs.push(json!({ "id": id, "match": "exact" }));
                    } else if place == 0 && product.id == *id {
                        inputs.push(json!({ "id": id, "match": "featured" }));
                    }
                }
                let in_price = allowed.iter().any(|allowed| allowed.id == variant.id);
                if !inputs.is_empty() && in_price {
                    let mut described = self.describe_variant(product, variant);
                    described["inputs"] = json!(inputs);
                    variants.push(described);
                }
            }
            unknown.retain(|id| !product.answers_to(id));
            if !variants.is_empty() {
                products.push(self.describe(product, variants));
            }
        }
        let mut body = json!({ "ucp": ucp, "products": products });
        if !unknown.is_empty() {
            let message = |id: &&str| json!({ "type": "info", "code": "not_found", "content": id });
            body["messages"] = unknown.iter().map(message).collect();
        }
        Answer::ok(body)
    }

    /// `POST /catalog/product`.
    pub(crate) fn product(&self, request: &Value, ucp: Value) -> Answer {
        let id = request["id"].as_str().unwrap_or_default();
        let by_variant = self.variant(id);
        let Some(product) = by_variant
            .map(|(product, _)| product)
            .or_else(|| self.products.iter().find(|product| product.id == id))
        else {
            return Answer::not_found(ucp, &format!("There is no product {id}."));
        };
        // A variant's id settles every option; a selection beside it does not count.
        let selected = match by_variant {
            Some((_, variant)) => product.labels(variant),
            None => product.effective(request),
        };
        let in_price = filtered(product, &request["filters"]).map_or(Vec::new(), |(_, kept)| kept);
        let mut variants: Vec<&Variant> = product
            .variants
            .iter()
            .filter(|variant| product.agrees(variant, &selected))
            .filter(|variant| in_price.iter().any(|kept| kept.id == variant.id))
            .collect();
        variants.sort_by_key(|variant| variant.id != id);
        if variants.is_empty() {
            return Answer::not_found(ucp, &format!("Nothing of {id} is within the filters."));
        }
        let mut body = self.describe(
            product,
            variants.iter().map(|v| self.describe_variant(product, v)),
        );
        if !product.options.is_empty() {
            body["selected"] = selected
                .iter()
                .map(|(name, label)| json!({ "name": name, "label": label }))
                .collect();
            body["options"] = product.option_values(|name, label| {
                // Relative to what else is selected, with this axis changed to this value.
                let mut changed = selected.clone();
                changed.retain(|(other, _)| *other != name);
                changed.push((name, label));
                let mut matching = product
                    .variants
                    .iter()
                    .filter(|variant| product.agrees(variant, &changed))
                    .peekable();
                let exists = matching.peek().is_some();
                let available = matching.any(|variant| self.stock(&variant.id) > 0);
                json!({ "label": label, "exists": exists, "available": available })
            });
        }
        Answer::ok(json!({ "ucp": ucp, "product": body }))
    }

    fn describe(&self, product: &Product, variants: impl IntoIterator<Item = Value>) -> Value {
        let prices = || product.variants.iter().map(|variant| variant.price);
        let mut body = json!({
            "id": product.id,
            "handle": product.id.trim_start_matches("prod_").replace('_', "-"),
            "title": product.title,
            "description": { "plain": product.description },
            "categories": [{ "value": product.category, "taxonomy": "merchant" }],
            "tags": product.tags,
            "price_range": {
                "min": price(prices().min().unwrap_or(0)),
                "max": price(prices().max().unwrap_or(0)),
            },
            "media": [{
                "type": "image",
                "url": self.image(product),
                "alt_text": product.title,
            }],
            "variants": variants.into_iter().collect::<Vec<_>>(),
        });
        if !product.options.is_empty() {
            body["options"] = product.option_values(|_, label| json!({ "label": label }));
        }
        body
    }

    fn describe_variant(&self, product: &Product, variant: &Variant) -> Value {
        let left = self.stock(&variant.id);
        let options: Vec<Value> = product
            .labels(variant)
            .iter()
            .map(|(name, label)| json!({ "name": name, "label": label }))
            .collect();
        json!({
            "id": variant.id,
            "sku": variant.sku,
            "title": product.variant_title(variant),
            "description": { "plain": product.description },
            "price": price(variant.price),
            "availability": {
                "available": left > 0,
                "status": if left > 0 { "in_stock" } else { "out_of_stock" },
            },
            "options": options,
        })
    }
}

impl Product {
    fn variant_title(&self, variant: &Variant) -> String {
        if variant.labels.is_empty() {
            self.title.to_owned()
        } else {
            format!("{} ({})", self.title, variant.labels.join(" / "))
        }
    }

    fn labels(&self, variant: &Variant) -> Vec<(&'static str, &'static str)> {
        let names = self.options.iter().copied();
        names.zip(variant.labels.iter().copied()).collect()
    }

    fn agrees(&self, variant: &Variant, selected: &[(&str, &str)]) -> bool {
        let labels = self.labels(variant);
        selected.iter().all(|choice| labels.contains(choice))
    }

    fn answers_to(&self, id: &str) -> bool {
        let of_variant = |variant: &Variant| variant.id == id || variant.sku == id;
        self.id == id || self.variants.iter().any(of_variant)
    }

    fn matches(&self, words: &[String]) -> bool {
        let text = [self.title, self.description, self.category]
            .into_iter()
            .chain(self.tags.iter().copied())
            .collect::<Vec<_>>()
            .join(" ")
            .to_lowercase();
        words.iter().all(|word| text.contains(word.as_str()))
    }

    /// Every value of every axis once, in the order of the variants.
    fn option_values(&self, value: impl Fn(&'static str, &'static str) -> Value) -> Value {
        let axis = |(place, name): (usize, &&'static str)| {
            let mut labels: Vec<&'static str> = Vec::new();
            for label in self.variants.iter().filter_map(|v| v.labels.get(place)) {
                if !labels.contains(label) {
                    labels.push(label);
                }
            }
            let values: Vec<Value> = labels.iter().map(|label| value(name, label)).collect();
            json!({ "name": name, "values": values })
        };
        self.options.iter().enumerate().map(axis).collect()
    }

    /// The selections that some variant satisfies: those asked for, relaxed from the end of the
    /// preferences (an axis without a preference goes first), or the featured variant's own.
    fn effective(&self, request: &Value) -> Vec<(&'static str, &'static str)> {
        let Some(asked) = request["selected"].as_array() else {
            let featured = self.variants.first();
            return featured.map_or(Vec::new(), |variant| self.labels(variant));
        };
        let every = self
            .variants
            .iter()
            .flat_map(|variant| self.labels(variant));
        let mut selected: Vec<(&'static str, &'static str)> = Vec::new();
        for choice in every {
            let wanted = |asked: &Value| asked["name"] == choice.0 && asked["label"] == choice.1;
            if asked.iter().any(wanted) && !selected.contains(&choice) {
                selected.push(choice);
            }
        }
        let preferences: Vec<&str> = request["preferences"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        selected.sort_by_key(|(name, _)| {
            preferences
                .iter()
                .position(|preferred| preferred == name)
                .unwrap_or(usize::MAX)
        });
        while !self.variants.iter().any(|v| self.agrees(v, &selected)) {
            selected.pop();
        }
        selected
    }
}

/// The product with those of its variants that pass the filters, if any do.
fn filtered<'a>(product: &'a Product, filters: &Value) -> Option<(&'a Product, Vec<&'a Variant>)> {
    if let Some(categories) = filters["categories"].as_array() {
        let category = product.category.to_lowercase();
        let within = |wanted: &Value| {
            let wanted = wanted.as_str().unwrap_or_default().to_lowercase();
            category == wanted || category.starts_with(&format!("{wanted} > "))
        };
        if !categories.iter().any(within) {
            return None;
        }
    }
    let bound = |name: &str| filters["price"][name].as_i64();
    let (least, most) = (bound("min").unwrap_or(0), bound("max").unwrap_or(i64::MAX));
    let kept: Vec<&Variant> = product
        .variants
        .iter()
        .filter(|variant| (least..=most).contains(&variant.price))
        .collect();
    (!kept.is_empty()).then_some((product, kept))
}

fn price(amount: i64) -> Value {
    json!({ "amount": amount, "currency": CURRENCY })
}

fn cursor(offset: usize) -> String {
    format!("after_{offset}")
}

fn offset(cursor: &str) -> Option<usize> {
    cursor.strip_prefix("after_")?.parse().ok()
}

/// `(suffix of id and SKU, option labels, price)` of each variant.
type Row = (&'static str, &'static [&'static str], i64);

fn products() -> Vec<Product> {
    let product = |id: &'static str,
                   title: &'static str,
                   description: &'static str,
                   category: &'static str,
                   tags: &'static [&'static str],
                   options: &'static [&'static str],
                   rows: &[Row]| {
        let name = id.trim_start_matches("prod_");
        let variants = rows
            .iter()
            .map(|(suffix, labels, price)| Variant {
                id: format!("var_{name}{suffix}"),
                sku: format!("{name}{suffix}").to_uppercase().replace('_', "-"),
                labels,
                price: *price,
            })
            .collect();
        Product {
            id,
            title,
            description,
            category,
            tags,
            options,
            digital: category == "Digital",
            variants,
        }
    };
    const COLOR_SIZE: &[&str] = &["Color", "Size"];
    vec![
        product(
            "prod_tee",
            "Organic T-Shirt",
            "A soft T-shirt of organic cotton.",
            "Apparel > Shirts",
            &["cotton", "summer"],
            COLOR_SIZE,
            &[
                ("_blue_s", &["Blue", "S"], 2500),
                ("_blue_l", &["Blue", "L"], 2700),
                ("_red_s", &["Red", "S"], 2500),
            ],
        ),
        product(
            "prod_jeans",
            "Straight Jeans",
            "Denim that lasts.",
            "Apparel > Trousers",
            &["denim"],
            &["Size"],
            &[("_30", &["30"], 8900), ("_32", &["32"], 8900)],
        ),
        product(
            "prod_sneaker",
            "Trail Sneaker",
            "A light shoe with grip.",
            "Footwear",
            &["running", "outdoor"],
            &["Size"],
            &[("_42", &["42"], 12000), ("_43", &["43"], 12000)],
        ),
        product(
            "prod_mug",
            "Stoneware Mug",
            "Holds 350 ml of coffee.",
            "Home > Kitchen",
            &["coffee"],
            &[],
            &[("", &[], 1499)],
        ),
        product(
            "prod_kettle",
            "Gooseneck Kettle",
            "Pours coffee water slowly.",
            "Home > Kitchen",
            &["coffee"],
            &[],
            &[("", &[], 6400)],
        ),
        product(
            "prod_grinder",
            "Burr Grinder",
            "Grinds coffee evenly.",
            "Home > Kitchen",
            &["coffee"],
            &[],
            &[("", &[], 15900)],
        ),
        product(
            "prod_beans",
            "Coffee Beans",
            "Roasted each Monday.",
            "Food",
            &["coffee"],
            &["Weight"],
            &[("_250", &["250 g"], 1150), ("_1000", &["1 kg"], 3900)],
        ),
        product(
            "prod_lamp",
            "Desk Lamp",
            "Warm light with a dimmer.",
            "Home > Lighting",
            &[],
            &[],
            &[("", &[], 4550)],
        ),
        product(
            "prod_blanket",
            "Wool Blanket",
            "Woven from merino wool.",
            "Home > Textiles",
            &["winter"],
            &[],
            &[("", &[], 9800)],
        ),
        product(
            "prod_bottle",
            "Steel Bottle",
            "Keeps water cold for a day.",
            "Outdoor",
            &["outdoor"],
            &[],
            &[("", &[], 2999)],
        ),
        product(
            "prod_tent",
            "Two-Person Tent",
            "Pitches in three minutes.",
            "Outdoor",
            &["outdoor", "summer"],
            &[],
            &[("", &[], 24900)],
        ),
        product(
            "prod_gift_card",
            "Gift Card",
            "Sent by e-mail.",
            "Digital",
            &["gift"],
            &["Value"],
            &[("_25", &["$25"], 2500), ("_100", &["$100"], 10000)],
        ),
    ]
}
