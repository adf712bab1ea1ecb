// Verifies what our client and the sandbox merchant put on the wire, and signs messages for us to
// verify, with http-message-signatures from npm and Node's own cryptography.
//
//   node verify.mjs verify FOLDER     every recorded message holds, and no altered copy of it
//   node verify.mjs sign FOLDER       signs cases.json in each algorithm

import { createHash, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSigner, createVerifier, httpbis } from 'http-message-signatures';

const ALGORITHMS = {
  'P-256': 'ecdsa-p256-sha256',
  'P-384': 'ecdsa-p384-sha384',
  Ed25519: 'ed25519',
};
const HEADERS = [
  'ucp-agent', 'idempotency-key', 'signature-agent', 'webhook-id', 'webhook-timestamp',
  'content-type', 'content-digest', 'signature-input', 'signature',
];

function parse(raw) {
  const end = raw.indexOf('\r\n\r\n');
  const [start, ...lines] = raw.subarray(0, end).toString('latin1').split('\r\n');
  const headers = {};
  for (const line of lines) {
    const at = line.indexOf(':');
    const name = line.slice(0, at).toLowerCase();
    if (name in headers) throw new Error(`${name} twice`);
    headers[name] = line.slice(at + 1).trim();
  }
  return { start, headers, body: raw.subarray(end + 4) };
}

// The library's view of a message.
function view({ start, headers }, scheme) {
  const [first, second] = start.split(' ');
  return first.startsWith('HTTP/')
    ? { status: Number(second), headers }
    : { method: first, url: `${scheme}://${headers.host}${second}`, headers };
}

// What the protocol wants to be covered. The library compares names alone.
function floor({ start, headers, body }) {
  const [first, target] = start.split(' ');
  const there = (names) => names.filter((name) => name in headers);
  const covered = first.startsWith('HTTP/')
    ? ['@status']
    : [
        '@method', '@authority', '@path',
        ...(target.split('?')[1] ? ['@query'] : []),
        ...there(HEADERS.slice(0, 5)),
      ];
  return body.length > 0 ? [...covered, 'content-digest', 'content-type'] : covered;
}

const digest = (body) => `sha-256=:${createHash('sha256').update(body).digest('base64')}:`;

async function holds(message, scheme, jwk) {
  // The library leaves digests to its users, and of several signatures it reports the last.
  if (message.body.length > 0 && message.headers['content-digest'] !== digest(message.body)) {
    return false;
  }
  const verify = createVerifier(createPublicKey({ key: jwk, format: 'jwk' }), ALGORITHMS[jwk.crv]);
  const keyLookup = async ({ keyid }) => (keyid === jwk.kid ? { id: keyid, verify } : null);
  const config = { keyLookup, all: true, requiredFields: floor(message) };
  return (await httpbis.verifyMessage(config, view(message, scheme))) === true;
}

// Copies that no signature of this message holds for.
function* altered(message) {
  const but = (name, value) => {
    const headers = { ...message.headers, [name]: value };
    if (value === undefined) delete headers[name];
    return { ...message, headers };
  };
  const [first, second] = message.start.split(' ');
  if (first.startsWith('HTTP/')) {
    yield ['status', { ...message, start: `HTTP/1.1 ${second === '200' ? 202 : 200} -` }];
  } else {
    const [path, query = ''] = second.split('?');
    const start = (method, target) => ({ ...message, start: `${method} ${target} HTTP/1.1` });
    yield ['method', start(first === 'GET' ? 'DELETE' : 'GET', second)];
    yield ['path', start(first, `${path}x?${query}`)];
    yield ['query', start(first, `${path}?${query}&x=1`)];
    yield ['host', but('host', 'other.example')];
  }
  for (const name of HEADERS.filter((name) => name in message.headers)) {
    yield [`${name} exchanged`, but(name, other(message.headers[name]))];
    yield [`${name} removed`, but(name, undefined)];
  }
  const input = message.headers['signature-input'];
  for (const component of ['"@method" ', '"@status" ', '"@status"']) {
    const less = input.replace(component, '');
    if (less !== input) yield [`${component}dropped`, but('signature-input', less)];
  }
  const body = Buffer.from(message.body.length > 0 ? message.body : '{}');
  body[body.length >> 1] ^= 1;
  yield ['body', { ...message, body }];
}

// The value with one character in its middle exchanged.
function other(value) {
  const middle = value.length >> 1;
  const place = middle + value.slice(middle).search(/[A-Za-z0-9]/);
  if (place < middle) return `${value}x`;
  return value.slice(0, place) + (value[place] === 'A' ? 'B' : 'A') + value.slice(place + 1);
}

async function verify(folder) {
  const index = JSON.parse(readFileSync(join(folder, 'index.json')));
  let copies = 0;
  for (const { file, scheme, key } of index) {
    const message = parse(readFileSync(join(folder, file)));
    if (!(await holds(message, scheme, key))) throw new Error(`${file}: does not hold`);
    for (const [what, copy] of altered(message)) {
      if (await holds(copy, scheme, key).catch(() => false)) {
        throw new Error(`${file}: ${what}, and it still holds`);
      }
      copies += 1;
    }
  }
  if (index.length === 0) throw new Error('nothing was recorded');
  console.log(`by Node: ${index.length} checked, ${copies} altered copies refused`);
}

async function sign(folder) {
  mkdirSync(folder, { recursive: true });
  const cases = JSON.parse(readFileSync(new URL('cases.json', import.meta.url)));
  const index = [];
  for (const [crv, alg] of Object.entries(ALGORITHMS)) {
    for (const [place, { start, scheme, headers, body: text, tag }] of cases.entries()) {
      const { privateKey, publicKey } =
        crv === 'Ed25519'
          ? generateKeyPairSync('ed25519')
          : generateKeyPairSync('ec', { namedCurve: crv });
      const jwk = publicKey.export({ format: 'jwk' });
      // A thumbprint, where the tag demands one.
      jwk.kid = tag ? thumbprint(jwk) : 'their key';
      const body = Buffer.from(text);
      const message = { start, headers: { ...headers }, body };
      if (body.length > 0) message.headers['content-digest'] = digest(body);
      const agent = '"signature-agent";key="sig1"';
      const signed = await httpbis.signMessage(
        {
          key: createSigner(privateKey, alg, jwk.kid),
          name: 'sig1',
          fields: floor(message).map((name) => (name === 'signature-agent' ? agent : name)),
          params: ['keyid', 'created', 'expires', ...(place % 2 ? ['alg'] : []), 'nonce', 'tag'],
          // Without a time on the first, which the protocol allows.
          paramValues: { ...(place === 0 && { created: null }), ...(tag && { nonce: 'bm9uY2U', tag }) },
        },
        view(message, scheme),
      );
      const lines = Object.entries(signed.headers);
      const head = [start, ...lines.map(([name, value]) => `${name}: ${value}`)].join('\r\n');
      const file = `${crv}-${place}.message`;
      writeFileSync(join(folder, file), Buffer.concat([Buffer.from(`${head}\r\n\r\n`), body]));
      index.push({ file, scheme, key: jwk });
    }
  }
  writeFileSync(join(folder, 'index.json'), JSON.stringify(index, null, 1));
  console.log(`by Node: ${index.length} signed`);
}

function thumbprint(jwk) {
  const members = Object.fromEntries(Object.entries(jwk).sort());
  return createHash('sha256').update(JSON.stringify(members)).digest('base64url');
}

const [verb, folder] = process.argv.slice(2);
await { verify, sign }[verb](folder);
