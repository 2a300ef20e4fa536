import { Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler, DummyDriver } from 'kysely';
import pg from 'pg';
import type { Statement } from './sql.ts';

export type { Generated, GeneratedAlways } from 'kysely';

export interface PoolOptions {
  url: string;
  /** Where `connect` goes instead: past a pooler that shares connections, on which nobody can listen. */
  listenUrl?: string;
  /** Connections at most; a request waits for one `connectTimeoutMs` at most. */
  connectionsMax: number;
  applicationName: string;
  statementTimeoutMs: number;
  lockTimeoutMs: number;
  /** A transaction whose program fell silent is rolled back: one that hangs would hold the journal's horizon (W26). */
  idleInTransactionTimeoutMs: number;
  connectTimeoutMs?: number;
  /** Runs on every new connection before anybody gets it; its failure is the failure of whoever waits. */
  onConnect?(db: Db): Promise<void>;
  onError(error: Error): void;
}

/** Runs statements: on the pool one by one, or inside a transaction. */
export interface Db {
  rows<Row>(statement: Statement<Row>): Promise<Row[]>;
  /** The first row, or undefined. */
  row<Row>(statement: Statement<Row>): Promise<Row | undefined>;
  /** The number of rows changed. */
  run(statement: Statement<unknown>): Promise<number>;
}

export interface Pool extends Db {
  /**
   * Runs `work` in one transaction: committed when it resolves, rolled back when it throws.
   * `work` must not call the network: an open transaction delays every reader of the journal.
   * What it hands to `ride` is on its way already and needs no answer before the commit is sent; its failure fails the
   * transaction all the same.
   */
  transaction<T>(work: (tx: Db, ride: (writing: Promise<unknown>) => void) => Promise<T>): Promise<T>;
  /** A connection of its own for LISTEN; the caller closes it. */
  connect(): Promise<pg.Client>;
  usage(): PoolUsage;
  close(): Promise<void>;
}

/** The connections of a pool at this moment. */
export interface PoolUsage {
  readonly inUse: number;
  readonly idle: number;
  /** Who waits for a connection. */
  readonly waiting: number;
}

/**
 * Every statement of a service goes by an index. Without `enable_seqscan=off`, the plan that a named statement gets while
 * its tables are still empty reads them whole, and is kept while they grow: the first 3,000 claims of a fresh
 * installation took 60 s instead of 3. `jit=off`: compiling costs more than any of these statements.
 */
const sessionOptions = '-c TimeZone=UTC -c enable_seqscan=off -c jit=off';

const timestamptzOid = 1184;
const int8Oid = 20;
const numericOid = 1700;

/**
 * RFC 3339 in UTC with three digits, the form of the wire, straight from the server's text. Every column that reaches
 * the wire is timestamptz(3), so nothing is lost and the same instant prints the same everywhere.
 */
export function timestampText(text: string): string {
  // 2026-11-21 12:00:00.123+00, the form of a session whose TimeZone is UTC
  if (text.length >= 22 && text.length <= 26 && text.endsWith('+00') && text[4] === '-') {
    const fraction = text.length > 22 ? text.slice(20, -3).padEnd(3, '0') : '000';
    return `${text.slice(0, 10)}T${text.slice(11, 19)}.${fraction}Z`;
  }
  return new Date(text).toISOString();
}

const parsers = new Map<number, (text: string) => unknown>([
  [timestamptzOid, timestampText],
  [int8Oid, Number],
  [numericOid, Number],
]);

const types = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    const parser = format === 'binary' ? undefined : parsers.get(oid);
    return parser ?? pg.types.getTypeParser(oid, format);
  },
} as pg.CustomTypesConfig;

export function createPool(options: PoolOptions): Pool {
  const { onConnect } = options;
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.connectionsMax,
    application_name: options.applicationName,
    statement_timeout: options.statementTimeoutMs,
    lock_timeout: options.lockTimeoutMs,
    idle_in_transaction_session_timeout: options.idleInTransactionTimeoutMs,
    connectionTimeoutMillis: options.connectTimeoutMs ?? 5000,
    options: sessionOptions,
    types,
    // A statement is sent without waiting for the answer to the one before it.
    pipeline: true,
    ...(onConnect && {
      onConnect: (client: pg.ClientBase) => onConnect(dbOver((statement) => client.query(statement))),
    }),
  });
  // Without a listener a restart of the database kills the process.
  pool.on('error', options.onError);
  const db = dbOver((statement) => pool.query(statement));
  return {
    ...db,
    transaction: (work) => inTransaction(pool, work),
    async connect() {
      const client = new pg.Client({
        connectionString: options.listenUrl ?? options.url,
        application_name: `${options.applicationName} (listening)`,
        connectionTimeoutMillis: options.connectTimeoutMs ?? 5000,
      });
      await client.connect();
      return client;
    },
    usage: () => ({
      inUse: pool.totalCount - pool.idleCount,
      idle: pool.idleCount,
      waiting: pool.waitingCount,
    }),
    close: () => pool.end(),
  };
}

async function inTransaction<T>(
  pool: pg.Pool,
  work: (tx: Db, ride: (writing: Promise<unknown>) => void) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  const breaks = (error: Error) => {
    broken ??= error;
  };
  // Between two statements nobody else listens to the connection, and an error that nobody hears ends the process.
  client.on('error', breaks);
  try {
    // Neither BEGIN nor what rides with COMMIT is waited for: two round trips less, a quarter of a small command.
    const riding: Promise<unknown>[] = [begin(client)];
    const result = await work(
      dbOver((statement) => client.query(statement)),
      (writing) => riding.push(writing),
    );
    const committing = client.query('commit');
    const [ended] = await Promise.all([committing, ...riding]);
    // A failed transaction's COMMIT resolves all the same, with the command ROLLBACK.
    if (ended.command !== 'COMMIT') throw new Error(`commit answered ${ended.command}`);
    return result;
  } catch (error) {
    await client.query('rollback').catch(breaks);
    throw error;
  } finally {
    client.off('error', breaks);
    client.release(broken);
  }
}

function begin(client: pg.PoolClient): Promise<unknown> {
  const begun = client.query('begin');
  // Whoever fails first ends the transaction; the other failure must not end the process.
  begun.catch(() => undefined);
  return begun;
}

function dbOver(query: (config: pg.QueryConfig) => Promise<pg.QueryResult>): Db {
  const send = <Row>({ text, values, name }: Statement<Row>) =>
    query(
      name === undefined
        ? { text, values: values as unknown[] }
        : { text, values: values as unknown[], name },
    );
  return {
    async rows<Row>(statement: Statement<Row>) {
      return (await send(statement)).rows as Row[];
    },
    async row<Row>(statement: Statement<Row>) {
      return (await send(statement)).rows[0] as Row | undefined;
    },
    async run(statement) {
      return (await send(statement)).rowCount ?? 0;
    },
  };
}

/** A query builder over `Tables` that only writes SQL; run what it makes with `db.rows(compiled(query))`. */
export function queryBuilder<Tables>(): Kysely<Tables> {
  return new Kysely<Tables>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (db) => new PostgresIntrospector(db),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  });
}

/** The SQLSTATE of a failure of the database, or undefined for anything else. */
export function sqlState(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined;
}

/** The constraint or index that a failure names, or undefined. */
export function violatedConstraint(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError && error.code === '23505' ? error.constraint : undefined;
}

const unreachableCodes = new Set(['ECONNREFUSED', 'ECONNRESET', 'ENOENT', 'ETIMEDOUT', 'EPIPE', 'ENOTFOUND']);

/** What the driver says, without a code, of a connection that was lost or can't be had. */
const unusableMessages =
  /^(Connection terminated|timeout exceeded when trying to connect|Client (was closed|has encountered)|Cannot use a pool)/;

/** Whether a failure means that the database can't be used now (down, starting, out of connections). */
export function isUnreachable(error: unknown): boolean {
  const state = sqlState(error);
  if (state !== undefined) return state.startsWith('08') || state.startsWith('57P0') || state === '53300';
  if (!(error instanceof Error)) return false;
  return (
    unreachableCodes.has((error as NodeJS.ErrnoException).code ?? '') || unusableMessages.test(error.message)
  );
}
