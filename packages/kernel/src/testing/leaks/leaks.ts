import { appendFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import pg from 'pg';
import { noteLog } from '@baton/testing/recent-log';
import { secretFields, tokenForms } from './secret-forms.ts';

/**
 * The leak test's data about a run: every secret that was generated or sent to a service, every logged line, and the
 * final content of the databases. Each test process appends it to its own files in the folder `BATON_LEAK_DIR`; without
 * that setting nothing is stored. `scripts/leaks.ts` searches the lines and the databases for the secrets.
 */

/**
 * A secret must not occur anywhere; the name of a person in another system must not occur in a journal, an audit log or
 * a log.
 */
export interface Kept {
  readonly kind: string;
  readonly text: string;
  readonly isName: boolean;
}

/** Marks a line that contains a table's name: the following lines are rows of that table. */
export const tableMark = '\x01';

const lengthMin = 16;
const differentCharactersMin = 8;
const bytesOfTestMax = 64 * 1024 * 1024;
const rowsOfTableMax = 20_000;
const bufferedMax = 64 * 1024;

const nameFields = new Map([
  ['subject', 'external subject'],
  ['userName', 'user name'],
]);
const secretHeaders = ['authorization', 'x-iam-bootstrap-token'];
const uuidForm = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

const seen = new Set<string>();
const buffers = new Map<string, string>();
/** The running test file. Test files that share a process have separate files and limits. */
let writer = runningTest();
let bytesWritten = 0;
let databasesKept = 0;

/**
 * A secret that a test generated or that a service returned. Short and very common strings are not stored, because they
 * occur everywhere.
 */
export function keepSecret(kind: string, text: string): void {
  keep({ kind, text, isName: false });
}

/** The name of a person in another system. */
export function keepName(kind: string, text: string): void {
  keep({ kind, text, isName: true });
}

/** The half of a PEM private key that has no line in common with the public key. */
export function keepPrivateKey(pem: string): void {
  const lines = pem.split('\n').filter((line) => line !== '' && !line.startsWith('-----'));
  for (const line of lines.slice(lines.length / 2)) keepSecret('private key', line);
}

/** The secrets in the headers and the body of a request or a response. */
export function keepMessage(headers: Readonly<Record<string, string>>, body: unknown): void {
  if (leakDirectory() === undefined) return;
  for (const [name, value] of Object.entries(headers))
    if (secretHeaders.includes(name.toLowerCase())) keepHeader(value);
  keepBody(typeof body === 'string' ? parsed(body) : body);
}

export function keepLog(text: string): void {
  noteLog(text);
  write('log', text.endsWith('\n') ? text : `${text}\n`);
}

/**
 * Stores every row of every table as text; of a very long table only the first rows, with a note. It stores nothing if
 * `BATON_LEAK_TABLES`, a comma-separated list of test files, is set and does not contain this one.
 */
export async function keepTables(databaseUrl: string): Promise<void> {
  const { BATON_LEAK_TABLES: files } = process.env;
  const isNamed = !files || files.split(',').includes(runningTest().replaceAll('!', '/'));
  if (leakDirectory() === undefined || !isNamed) return;
  databasesKept += 1;
  const client = new pg.Client({ connectionString: databaseUrl, application_name: 'baton-test' });
  // A test that ends may close every connection to the database, including this one while it reads.
  client.on('error', () => undefined);
  await client.connect();
  try {
    // A lock that a failed test left must not delay the end of the run.
    await client.query("set lock_timeout = '5s'; set statement_timeout = '30s'; set timezone = 'UTC'");
    const { rows } = await client.query<{ name: string }>(
      `select c.oid::regclass::text as name from pg_class c
       where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace and pg_relation_size(c.oid) > 0 order by 1`,
    );
    for (const { name } of rows) await keepTable(client, name);
  } finally {
    await client.end();
  }
}

async function keepTable(client: pg.Client, name: string): Promise<void> {
  const text = `select t::text as row from only ${name} t limit ${rowsOfTableMax + 1}`;
  const { rows } = await client.query<{ row: string }>(text);
  if (rows.length > rowsOfTableMax) write('notes', `the first ${rowsOfTableMax} rows of a table ${name}\n`);
  const kept = rows.slice(0, rowsOfTableMax).map(({ row }) => row);
  write(`${databasesKept}.tables`, `${tableMark}${name}\n${kept.join('\n')}\n`);
}

function keepHeader(value: string): void {
  const [scheme = '', credential = ''] = value.split(/ +(.*)/s);
  if (/^basic$/i.test(scheme)) {
    const secret = Buffer.from(credential, 'base64')
      .toString()
      .replace(/^[^:]*:/, '');
    keepSecret('client secret', decoded(secret));
  } else keepSecret('credential in a header', credential === '' ? value : credential);
}

function keepBody(body: unknown): void {
  if (typeof body === 'string') {
    for (const [token] of body.matchAll(tokenForms)) keepSecret('presented token', token);
  } else if (Array.isArray(body)) {
    for (const item of body) keepBody(item);
  } else if (typeof body === 'object' && body !== null) {
    for (const [field, value] of Object.entries(body)) {
      const [kind, name] = [secretFields.get(field), nameFields.get(field)];
      if (typeof value === 'string' && kind !== undefined && isLikeSecret(kind, value))
        keepSecret(kind, value);
      if (typeof value === 'string' && name !== undefined) keepName(name, value);
      keepBody(value);
    }
  }
}

/**
 * Whether the value of a field with the name of a secret is one: the field can also contain an id or a name, and
 * Baton's keys have a format of their own.
 */
function isLikeSecret(kind: string, value: string): boolean {
  if (kind === 'password') return true;
  return kind === 'key' ? /^cp_\w{12}_./.test(value) : !uuidForm.test(value);
}

/** Parses a body as JSON, otherwise as a form; otherwise returns it unchanged. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return /^[\w.]+=/.test(text) ? Object.fromEntries(new URLSearchParams(text)) : text;
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function keep(kept: Kept): void {
  const { text } = kept;
  if (leakDirectory() === undefined || text.length < lengthMin || seen.has(text)) return;
  if (new Set(text).size < differentCharactersMin || /(.)\1{11}/s.test(text)) return;
  seen.add(text);
  write('secrets', `${JSON.stringify(kept)}\n`);
}

function leakDirectory(): string | undefined {
  return process.env.BATON_LEAK_DIR || undefined;
}

function write(file: string, text: string): void {
  if (leakDirectory() === undefined) return;
  if (buffers.size === 0) process.on('exit', flush);
  if (writer !== runningTest()) {
    flush();
    writer = runningTest();
    bytesWritten = 0;
  }
  bytesWritten += text.length;
  const isTooMuch = bytesWritten > bytesOfTestMax && file !== 'secrets' && file !== 'notes';
  const note = `the first ${bytesOfTestMax} bytes of what a test logged and stored\n`;
  if (!isTooMuch) add(file, text);
  else if (!(buffers.get('notes') ?? '').includes(note)) add('notes', note);
}

function add(file: string, text: string): void {
  const buffered = (buffers.get(file) ?? '') + text;
  buffers.set(file, buffered);
  if (buffered.length > bufferedMax && file !== 'notes') flushOne(file);
}

function flush(): void {
  for (const file of buffers.keys()) flushOne(file);
}

function flushOne(file: string): void {
  const [directory, text] = [leakDirectory(), buffers.get(file)];
  if (directory === undefined || !text) return;
  buffers.set(file, '');
  appendFileSync(join(directory, `${writer}~${process.pid}.${file}`), text);
}

/** The path of the test file, converted to a file name. */
function runningTest(): string {
  return relative(process.cwd(), process.argv[1] ?? 'unknown').replaceAll('/', '!');
}
