import { totalmem } from 'node:os';

const mebibyte = 1024 * 1024;

/**
 * PostgreSQL's settings as arguments, which take precedence over its configuration files. They suit short
 * transactions on one machine; with `durable`, a commit is on disk before it is acknowledged.
 */
export function serverSettings(options: {
  socketDirectory: string;
  durable: boolean;
  isUntrusted: boolean;
}): string[] {
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
    // Compilation takes longer than our short statements.
    jit: 'off',
    timezone: 'UTC',
    log_timezone: 'UTC',
    // Keeps failing statements and their rows out of the log, because they may be private.
    log_error_verbosity: 'terse',
    log_min_error_statement: 'panic',
    log_line_prefix: '%m [%p] %d ',
    log_checkpoints: 'off',
    // Autovacuum and subscriptions would run the cluster's code in background processes before the first connection.
    ...(options.isUntrusted ? { autovacuum: 'off', max_logical_replication_workers: 0 } : {}),
    ...(options.durable ? {} : { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }),
  };
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}
