import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Kept, tableMark } from '@baton/kernel/testing/leaks/leaks';
import { createSearch, listHashes, listSpellings, type Needle } from './leaks-search.ts';

export interface LeakReport {
  /** One line per place that contains a secret. */
  readonly findings: readonly string[];
  /** The parts that could not be searched in full. */
  readonly notes: readonly string[];
  readonly secrets: number;
  readonly bytes: number;
}

/** A secret that a test stores on purpose. */
export interface Allowed {
  readonly test: string;
  readonly place: string;
  readonly why: string;
}

/** Long-lived records: they may contain neither hashes of secrets nor names of people. */
const records = ['the log', 'table events', 'table archived_events', 'table audit_records', 'table outbox'];

/** The only tables that may hold hashes of secrets. */
const hashTables = [
  'table connection_authorizations',
  'table platform_access_tokens',
  'table service_accounts',
  'table provisioning_tokens',
  'table browser_sessions',
  'table invitations',
  'table administration_tokens',
  'table oauth_handles',
  'table api_keys',
];

/** Texts of these forms are secrets, even if no test reported them. */
const forms: readonly [start: string, kind: string, form: RegExp][] = [
  ['iam_pat_', 'platform access token', /iam_pat_[0-9a-f]{12}_[\w-]{43}/y],
  ['iam_ses_', 'browser session', /iam_ses_[0-9a-f]{12}_[\w-]{43}/y],
  ['iam_inv_', 'invitation', /iam_inv_[0-9a-f]{12}_[\w-]{43}/y],
  ['iam_adm_', 'administration token', /iam_adm_[0-9a-f]{12}_[\w-]{43}/y],
  ['iam_ref_', 'refresh token', /iam_ref_[\w-]{64}/y],
  ['iam_scim_', 'provisioning token', /iam_scim_[0-9a-f]{12}_[\w-]{43}/y],
  ['cp_', 'key of coordination', /cp_(?:bg[0-9a-f]{10}|[0-9a-f]{12})_[\w-]{43}/y],
  ['eyJ', 'signed token', /eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{20,}/y],
  ['-----BEGIN', 'private key', /-----BEGIN (?:[A-Z]+ )?PRIVATE KEY/y],
];

/** A whole run must contain a secret of each of these kinds; if one is missing, the search didn't cover that kind. */
const kindsOfWholeRun = [
  'platform access token',
  'client secret',
  'provisioning token',
  'access token',
  'key of coordination',
  'upstream token',
  'admin secret',
  'bootstrap secret',
  'password',
  'private key',
];

const shownMax = 8;
const rowLengthMax = 60;

/**
 * Searches everything that a test run logged and stored for each secret that the tests generated or sent to a service.
 * @param directories the values of `BATON_LEAK_DIR` during the run, or during each of its shards
 * @param isWhole whether all tests ran: then the run must contain secrets of every kind, and each exception must be
 * needed
 */
export function checkLeaks(
  directories: readonly string[],
  isWhole: boolean,
  allowed: readonly Allowed[],
): LeakReport {
  const files = directories.flatMap((directory) =>
    readdirSync(directory)
      .sort()
      .map((name) => ({ name, path: join(directory, name) })),
  );
  const linesOf = (end: string) =>
    files
      .filter(({ name }) => name.endsWith(end))
      .flatMap(({ name, path }) => {
        const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
        return lines.map((line) => ({ line, test: testOf(name) }));
      });
  const kept = new Map<string, Kept>();
  for (const { line } of linesOf('.secrets')) {
    const one = JSON.parse(line) as Kept;
    // The test that generated a secret records its kind more exactly than the service that received it.
    if (!kept.has(one.text) || !/^(presented|credential)/.test(one.kind)) kept.set(one.text, one);
  }
  const search = createSearch([...needlesOf(kept)]);
  const found = new Map<string, string>();
  let bytes = 0;
  for (const { name: file, path } of files.filter(({ name }) => /\.(log|tables)$/.test(name))) {
    const text = readFileSync(path);
    bytes += text.length;
    const test = testOf(file);
    const note = (at: number, kind: string, secret: string, spelling: string) => {
      const place = placeAt(text, at, file);
      const key = `${test}: ${place}`;
      const line = `${key}, “${startOf(text, at)}…” holds a ${kind} (${spelling}) that starts ${secret.slice(0, shownMax)}`;
      if (!found.has(key)) found.set(key, line);
    };
    search(text, ({ secret, spelling }, at) => {
      const { kind, isName } = kept.get(secret) as Kept;
      const place = placeAt(text, at, file);
      if (isName && !records.includes(place)) return;
      if (spelling === 'as its hash' && hashTables.includes(place)) return;
      note(at, kind, secret, spelling);
    });
    searchForms(text, (at, kind, secret) => note(at, kind, secret, 'by its form'));
  }
  const places = allowed.map(({ test, place }) => `${test}: ${place}`);
  const findings = [...found].filter(([key]) => !places.includes(key)).map(([, line]) => line);
  if (isWhole) {
    const kinds = new Set([...kept.values()].map(({ kind }) => kind));
    for (const kind of kindsOfWholeRun.filter((name) => !kinds.has(name)))
      findings.push(`no ${kind} was seen in the whole run: its search proves nothing`);
    for (const place of places.filter((name) => !found.has(name)))
      findings.push(`${place}: not needed any more, delete this exception`);
  }
  const notes = new Set(linesOf('.notes').map(({ line, test }) => `${line} (${test})`));
  return { findings, notes: [...notes], secrets: kept.size, bytes };
}

/** The path of the test whose process wrote a file. */
function testOf(file: string): string {
  return (file.split('~')[0] as string).replaceAll('!', '/');
}

function* needlesOf(kept: ReadonlyMap<string, Kept>): Iterable<Needle> {
  for (const { text, isName } of kept.values()) {
    yield* listSpellings(text);
    if (!isName) yield* listHashes(text);
  }
}

function placeAt(text: Buffer, at: number, file: string): string {
  if (file.endsWith('.log')) return 'the log';
  const mark = text.lastIndexOf(tableMark, at);
  return `table ${text.toString('latin1', mark + 1, text.indexOf('\n', mark))}`;
}

/**
 * The start of the line up to the secret; every long word is cut to its first characters, because it may be a secret
 * too.
 */
function startOf(text: Buffer, at: number): string {
  const start = text.lastIndexOf('\n', at) + 1;
  const line = text.toString('utf8', start, Math.min(at, start + rowLengthMax));
  return line.replaceAll(/([\w+/=-]{8})[\w.+/=-]+/g, '$1~');
}

function searchForms(text: Buffer, found: (at: number, kind: string, secret: string) => void): void {
  for (const [start, kind, form] of forms)
    for (let at = text.indexOf(start); at !== -1; at = text.indexOf(start, at + 1)) {
      const [secret] = new RegExp(form).exec(text.toString('latin1', at, at + 4096)) ?? [];
      if (secret !== undefined) found(at, kind, secret);
    }
}
