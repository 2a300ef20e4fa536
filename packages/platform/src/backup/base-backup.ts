import { Readable } from 'node:stream';
import pg from 'pg';
import { StartError } from '../start-error.ts';

/** A server that sends nothing for this long is given up; the longest silence is the checkpoint at the beginning. */
const silenceMsMax = 300_000;

/**
 * The protocol takes capitals only. The slot keeps the write-ahead log that the copy needs; it ends with the connection,
 * so a killed copy leaves nothing behind.
 */
const keepLog = 'CREATE_REPLICATION_SLOT baton_backup_%pid TEMPORARY PHYSICAL (RESERVE_WAL)';
const copyCluster =
  "BASE_BACKUP (LABEL 'baton', CHECKPOINT 'fast', WAL true, MANIFEST 'no', VERIFY_CHECKSUMS true)";

/**
 * A physical copy of the whole cluster as one tar archive, as pg_basebackup takes it: all databases at one moment, with
 * the log that makes the copy consistent. Writers are not held up.
 * @param address of any database, as superuser
 * @throws StartError when the server refuses, ends, or has more than one tablespace
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
    throw new StartError(
      `The database could not be copied (${reason}): try again while Baton keeps running.`,
      {
        cause,
      },
    );
  } finally {
    // Without a wait for the server: after a failure it may not answer.
    client.end().catch(() => undefined);
  }
}

/**
 * The answer to BASE_BACKUP. Its first byte says what a message of the copy is: a new archive (n), data (d), the
 * manifest (m) or progress (p).
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
        // A reader that stops early must not leave the server sending.
        this.#wire?.stream.destroy();
        done(error);
      },
    });
  }

  submit(connection: pg.Connection): void {
    this.#wire = connection;
    connection.query(copyCluster);
    this.#heard();
  }

  handleCopyData({ chunk }: { chunk: Buffer }): void {
    this.#heard();
    const kind = String.fromCharCode(chunk[0] ?? 0);
    if (kind === 'n' && ++this.#archives > 1)
      this.stream.destroy(new Error('it has tablespaces of its own, which this copy does not know'));
    // The driver's buffer is used again for the next message.
    if (kind === 'd' && !this.stream.push(Buffer.from(chunk.subarray(1)))) this.#wire?.stream.pause();
  }

  handleError(error: Error): void {
    this.stream.destroy(error);
  }

  handleReadyForQuery(): void {
    this.stream.push(null);
  }

  // The rows before and after the copy say where in the log it begins and ends: the archive says it, too.
  handleRowDescription(): void {}
  handleDataRow(): void {}
  handleCommandComplete(): void {}

  #heard(): void {
    clearTimeout(this.#silence);
    const giveUp = () => this.stream.destroy(new Error(`it sent nothing for ${silenceMsMax / 1000} s`));
    this.#silence = setTimeout(giveUp, silenceMsMax);
  }
}
