import { readFile, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import type { Pool } from '@baton/kernel/database/db';
import { createLog } from '@baton/kernel/process/log';
import { poolOf, prepareDatabase } from '../../service/database.ts';
import type { Settings } from '../settings.ts';
import { readAuditKey } from './audit-key.ts';
import { headFileOf, readHead } from './head-file.ts';
import { findOverallHead, findSealEnding } from './seals.sql.ts';
import {
  type ChainProblem,
  type ChainReport,
  type Heads,
  type Keys,
  type SavedHead,
  verifyChains,
} from './verification.ts';

/** The text of `baton identity audit --help`. */
export const auditUsage = `Usage: baton identity audit verify [options]

Checks the audit log in IAM_DATABASE_URL against its seals, tenant by tenant.

  --tenant ID         only this tenant
  --key FILE          a key besides the one in IAM_AUDIT_KEY_FILE, such as an earlier one; may be repeated
  --heads FILE        ends of chains, saved before, that must still be there: shows that an end was cut off
  --save-heads FILE   writes the ends of the chains, when all is whole
  --anchor N:HASH     the end of all chains, as the log of identity gave it, that must still be there; may be repeated

Ends with 0 when all is whole, 1 when something is broken, 2 when it could not be checked.
`;

const options = {
  tenant: { type: 'string' },
  key: { type: 'string', multiple: true, default: [] as string[] },
  heads: { type: 'string' },
  'save-heads': { type: 'string' },
  anchor: { type: 'string', multiple: true, default: [] as string[] },
} as const;

const tenantForm = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const anchorForm = /^(\d{1,15}):([0-9a-f]{64})$/;

/** The command line is invalid. */
class UsageError extends Error {}

interface Output {
  /** One line each. */
  say(line: string): void;
  complain(line: string): void;
}

/**
 * `baton identity audit …`
 * @param args the arguments after `audit`
 * @param readSettings reads and checks all settings of identity: an invalid one ends the command with exit code 2
 * @returns the exit code: 0 intact, 1 broken, 2 not checked
 */
export async function runAuditCommand(
  args: readonly string[],
  readSettings: () => Settings,
  output: Output,
): Promise<0 | 1 | 2> {
  try {
    const wanted = parse(args);
    const settings = readSettings();
    const keyFiles = [
      ...(settings.IAM_AUDIT_KEY_FILE ? [settings.IAM_AUDIT_KEY_FILE] : []),
      ...wanted.keyFiles,
    ];
    if (keyFiles.length === 0)
      throw new Error('No key is given: set IAM_AUDIT_KEY_FILE, or name its file with --key.');
    const keys = new Map((await Promise.all(keyFiles.map(readAuditKey))).map((key) => [key.id, key]));
    const saved = wanted.headsFile === undefined ? {} : await readHeads(wanted.headsFile);
    const log = createLog({ name: 'identity', level: 'error', sync: true });
    // A long timeout, because no request waits for this, and a long log may have to be read from disk.
    const patient = {
      ...settings,
      IAM_CREATE_SCHEMA_ON_STARTUP: false,
      IAM_DATABASE_CONNECTIONS_MAX: 2,
      IAM_STATEMENT_TIMEOUT_SECONDS: 600,
    };
    const pool = poolOf(patient, log);
    try {
      await prepareDatabase(patient, pool);
      return (await verify(pool, keys, { ...wanted, saved, headFile: headFileOf(settings) }, output)) ? 0 : 1;
    } finally {
      await pool.close();
    }
  } catch (error) {
    output.complain((error as Error).message);
    if (error instanceof UsageError) output.complain(auditUsage.trimEnd());
    return 2;
  }
}

interface Wanted {
  readonly tenantId: string | undefined;
  readonly keyFiles: readonly string[];
  readonly headsFile: string | undefined;
  readonly saveHeadsFile: string | undefined;
  readonly anchors: readonly { through: number; hash: string }[];
}

function parse([verb, ...args]: readonly string[]): Wanted {
  if (verb !== 'verify') throw new UsageError('There is one command: verify.');
  let values: ReturnType<typeof parseArgs<{ options: typeof options }>>['values'];
  try {
    ({ values } = parseArgs({ args, options, strict: true }));
  } catch (error) {
    throw new UsageError((error as Error).message, { cause: error });
  }
  const tenantId = values.tenant?.toLowerCase();
  if (tenantId !== undefined && !tenantForm.test(tenantId))
    throw new UsageError('--tenant needs the id of a tenant.');
  const anchors = values.anchor.map((text) => {
    const [, through, hash] = anchorForm.exec(text) ?? [];
    if (hash === undefined)
      throw new UsageError('--anchor needs a number, a colon and a hash, as in the log.');
    return { through: Number(through), hash };
  });
  return {
    tenantId,
    keyFiles: values.key,
    headsFile: values.heads,
    saveHeadsFile: values['save-heads'],
    anchors,
  };
}

async function verify(
  pool: Pool,
  keys: Keys,
  wanted: Wanted & { saved: Heads; headFile: string | undefined },
  { say }: Output,
): Promise<boolean> {
  const sums = { tenants: 0, links: 0, records: 0, broken: 0 };
  const heads: Record<string, SavedHead> = {};
  for await (const report of verifyChains(pool, keys, wanted)) {
    sums.tenants += 1;
    sums.links += report.links;
    sums.records += report.records;
    sums.broken += report.problems.length === 0 ? 0 : 1;
    if (report.head !== undefined) heads[report.tenantId] = savedOf(report.head);
    say(lineOf(report));
    for (const problem of report.problems) say(`  ${problemLine(problem)}`);
    if (report.more > 0) say(`  and ${report.more} more problems`);
  }
  let lostAnchors = 0;
  for (const { through, hash } of wanted.anchors) {
    if ((await pool.row(findOverallHead(through)))?.hash === hash) continue;
    lostAnchors += 1;
    say(`anchor ${through}: BROKEN, the chains up to here differ from those in the log`);
  }
  const isHeadLost = wanted.headFile !== undefined && !(await isHeadThere(pool, wanted.headFile));
  if (isHeadLost)
    say(`the head in ${wanted.headFile}: BROKEN, the last link that identity made is missing or different`);
  const isWhole = sums.broken === 0 && lostAnchors === 0 && !isHeadLost;
  const extent = [
    counted(sums.tenants, 'tenant'),
    counted(sums.links, 'link'),
    counted(sums.records, 'record'),
  ].join(', ');
  say(
    isWhole
      ? `The audit log is whole: ${extent}.`
      : `The audit log is BROKEN in ${sums.broken} of ${extent}${lostAnchors === 0 ? '' : `, and ${lostAnchors} anchors are lost`}.`,
  );
  if (isWhole && wanted.saveHeadsFile !== undefined)
    await writeFile(wanted.saveHeadsFile, `${JSON.stringify(heads, undefined, 1)}\n`);
  return isWhole;
}

/** Whether the last link that identity created still exists; true if identity has recorded none. */
async function isHeadThere(pool: Pool, file: string): Promise<boolean> {
  const head = await readHead(file);
  return head === undefined || (await pool.row(findSealEnding(head.lastSequence)))?.hmac === head.hmac;
}

/** `<tenant>: whole, 3 links, 700 records, 2 not sealed yet, head 3 5e1f…` */
function lineOf({ tenantId, links, records, removed, unsealed, head, problems }: ChainReport): string {
  return [
    `${tenantId}: ${problems.length === 0 ? 'whole' : 'BROKEN'}`,
    counted(links, 'link'),
    counted(records, 'record'),
    ...(removed === 0 ? [] : [`${removed} removed by retention`]),
    ...(unsealed === 0 ? [] : [`${unsealed} not sealed yet`]),
    ...(head === undefined ? [] : [`head ${head.position} ${head.hmac}`]),
  ].join(', ');
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

function problemLine({ position, place, what }: ChainProblem): string {
  if (place === undefined) return `link ${position}: ${what}`;
  const sequences = `sequences ${place.first_sequence} to ${place.last_sequence}`;
  return `link ${position}, ${sequences}, ${place.occurred_from} to ${place.occurred_to}: ${what}`;
}

async function readHeads(file: string): Promise<Heads> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(await readFile(file, 'utf8'));
  } catch (cause) {
    throw new Error('The file of --heads is not valid JSON.', { cause });
  }
  if (!isHeads(parsed)) throw new Error('The file of --heads was not written by --save-heads.');
  return parsed;
}

/** The parts of a link that are saved. */
function savedOf(head: SavedHead): SavedHead {
  const { position, hmac, first_sequence, last_sequence, occurred_from, occurred_to } = head;
  return { position, hmac, first_sequence, last_sequence, occurred_from, occurred_to };
}

function isHeads(value: unknown): value is Heads {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return Object.entries(value).every(
    ([tenantId, head]) =>
      tenantForm.test(tenantId) &&
      Number.isSafeInteger(head?.position) &&
      Number.isSafeInteger(head.first_sequence) &&
      Number.isSafeInteger(head.last_sequence) &&
      [head.hmac, head.occurred_from, head.occurred_to].every((text) => typeof text === 'string'),
  );
}
