import { totalmem } from 'node:os';

const mebibyte = 1024 * 1024;

/**
 * PostgreSQL's settings, as arguments, so that the program decides them at every start and no file can differ.
 * They suit short transactions on one machine; with `durable` a commit is on disk before it is answered.
 */
export function serverSettings(options: { socketDirectory: string; durable: boolean }): string[] {
  const sharedMebibytes = Math.min(256, Math.max(32, Math.floor(totalmem() / mebibyte / 16)));
  const settings: Record<string, string | number> = {
    listen_addresses: '',
    unix_socket_directories: options.socketDirectory,
    unix_socket_permissions: '0700',
    port: 5432,
    max_connections: 200,
    shared_buffers: `${sharedMebibytes}MB`,
    wal_buffers: '16MB',
    max_wal_size: '2GB',
    checkpoint_timeout: '15min',
    random_page_cost: 1.1,
    // Compiling a statement costs more than our short ones take.
    jit: 'off',
    timezone: 'UTC',
    log_timezone: 'UTC',
    // A failing statement's text and the rows it names stay out of the log: they can hold what must stay private.
    log_error_verbosity: 'terse',
    log_min_error_statement: 'panic',
    log_line_prefix: '%m [%p] %d ',
    log_checkpoints: 'off',
    ...(options.durable ? {} : { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }),
  };
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}
