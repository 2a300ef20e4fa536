import { flag, integer, list, type SettingValues, text } from '@baton/kernel/process/config';

const seconds = 'seconds';

/** The settings that this layer reads. */
export const settings = {
  IAM_OUTBOUND_ALLOWED_HOSTS: list({
    default: [],
    doc: 'Hosts (`host` or `host:port`) of identity providers and provisioning sources that may have private addresses and may be called over HTTP; all others are called over HTTPS at public addresses only.',
  }),
  IAM_DATABASE_URL: text({
    default: 'postgresql://iam:iam@localhost:5435/iam',
    secret: true,
    doc: 'The PostgreSQL database (15 or later) of identity.',
  }),
  IAM_DATABASE_CONNECTIONS_MAX: integer({
    default: 20,
    min: 1,
    max: 1000,
    unit: 'connections',
    doc: 'The maximum number of database connections per process.',
  }),
  IAM_DATABASE_NAMED_STATEMENTS: flag({
    default: true,
    doc: 'Whether to use named prepared statements; set it to false for a pooler in transaction mode before PgBouncer 1.21.',
  }),
  IAM_STATEMENT_TIMEOUT_SECONDS: integer({
    default: 10,
    min: 1,
    max: 3600,
    unit: seconds,
    doc: 'The timeout of a statement, including its wait for locks.',
  }),
  IAM_CREATE_SCHEMA_ON_STARTUP: flag({
    default: false,
    doc: 'Whether the service migrates the database when it starts; otherwise it refuses to start with an old database.',
  }),
};

export type Settings = SettingValues<typeof settings>;
