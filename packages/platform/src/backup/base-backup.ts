import { Readable } from 'node:stream';
import pg from 'pg';
import { StartError } from '../start-error.ts';

/** The copy fails if the server sends nothing for this long. The longest silence is the checkpoint at the start. */
const silenceMsMax = 300_000;

/**
 * The protocol requires capitals. The slot retains the write-ahead log that the copy needs. It is dropped with the
 * connection, so a killed copy leaves no slot behind.
 */
const keepLog = 'CREATE_REPLICATION_SLOT baton_backup_%pid TEMPORARY PHYSICAL (RESERVE_WAL)';
const copyCluster =
  "BASE_BACKUP (LABEL 'baton', CHECKPOINT 'fast', WAL true, MANIFEST 'no', VERIFY_CHECKSUMS true)";

/**
 * A physical copy of the whole cluster as one tar archive, like that of pg_basebackup: all databases at one point in
 * time, with the log that makes the copy consistent. Writers are not blocked.
 * @param address the address of any database, as superuser
 * @throws StartError if the server rejects the copy, stops, or has more than one tablespace
 */
export async function* baseBackup(address: string): AsyncGenerator<Buffer> {
  const config = { connectionString: address, replication: 'true', application_name: 'baton-backup' };
  const client = new pg.Client({ ...config, connectionTimeoutMillis: 10_000 });
  let lost: Error | undefined;
  try {
    await client.connect();
    const copy = new ClusterCopy();
    client.on('error', (error) => {
      lost = error;
      copy.stream.destroy(error);
    });
    await client.query(keepLog.replace('%pid', String(process.pid)));
    client.query(copy);
    yield* copy.stream;
  } catch (cause) {
    const reason = (lost ?? (cause as Error)).message;
    throw new StartError(`Cannot copy the database (${reason}). Try again, and keep Baton running.`, {
      cause,
    });
  } finally {
    // Not awaited, because the server may not respond after a failure.
    client.end().catch(() => undefined);
  }
}

/**
 * The response to BASE_BACKUP. The first byte of a message is its kind: a new archive (n), data (d), the manifest (m)
 * or progress (p).
 */
class ClusterCopy implements pg.Submittable {
  readonly stream: Readable;
  #wire: pg.Connection | undefined;
  #archives = 0;
  #silence: NodeJS.Timeout | undefined;

  constructor() {
    this.stream = new Readable({
      read: () => this.#wire?.stream.resume(),
      destroy: (error, done) => {
        clearTimeout(this.#silence);
        // When the reader stops early, the server must stop sending too.
        this.#wire?.stream.destroy();
        done(error);
      },
    });
  }

  submit(connection: pg.Connection): void {
    this.#wire = connection;
    connection.query(copyCluster);
    this.#resetTimeout();
  }

  handleCopyData({ chunk }: { chunk: Buffer }): void {
    this.#resetTimeout();
    const kind = String.fromCharCode(chunk[0] ?? 0);
    if (kind === 'n' && ++this.#archives > 1)
      this.stream.destroy(new Error('additional tablespaces are not supported'));
    // Copied, because the driver reuses its buffer for the next message.
    if (kind === 'd' && !this.stream.push(Buffer.from(chunk.subarray(1)))) this.#wire?.stream.pause();
  }

  handleError(error: Error): void {
    this.stream.destroy(error);
  }

  handleReadyForQuery(): void {
    this.stream.push(null);
  }

  // These messages are ignored: they contain the positions in the log where the copy starts and ends, which are in the
  // archive too.
  handleRowDescription(): void {}
  handleDataRow(): void {}
  handleCommandComplete(): void {}

  #resetTimeout(): void {
    clearTimeout(this.#silence);
    const giveUp = () => this.stream.destroy(new Error(`no data for ${silenceMsMax / 1000} s`));
    this.#silence = setTimeout(giveUp, silenceMsMax);
  }
}
