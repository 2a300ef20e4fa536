import { integer, type SettingValues, text } from '@baton/kernel/process/config';
import { settings as lowerSettings } from '../access/settings.ts';

const seconds = 'seconds';

/** The settings that this layer and the layers below it read. */
export const settings = {
  CP_ARTIFACT_FOLDER: text({
    default: '',
    doc:
      'The folder for artifact contents; without it and without CP_S3_ENDPOINT_URL, no contents can be stored. All ' +
      'processes need the same folder. The default run uses `contents` in BATON_HOME.',
  }),
  CP_ARTIFACT_MAX_BYTES: integer({
    default: 104_857_600,
    min: 1,
    unit: 'bytes',
    doc: 'Maximum size of an artifact in bytes.',
  }),
  CP_ARTIFACT_UPLOAD_TTL_SECONDS: integer({
    default: 86_400,
    min: 1,
    max: 31_536_000,
    unit: seconds,
    doc: 'How long uploaded bytes that no artifact references are kept.',
  }),
  CP_S3_ENDPOINT_URL: text({
    default: '',
    doc:
      "The address of an S3-compatible store for artifacts' bytes, for instance " +
      '`https://s3.eu-central-1.amazonaws.com`. Takes precedence over CP_ARTIFACT_FOLDER; existing bytes are not ' +
      'moved between the two.',
  }),
  CP_S3_BUCKET: text({ default: 'artifacts', doc: 'The bucket in the S3-compatible store; it must exist.' }),
  CP_S3_REGION: text({ default: 'us-east-1', doc: 'The region that requests are signed for.' }),
  CP_S3_ACCESS_KEY_ID: text({ default: '', doc: 'The access key with which requests are signed.' }),
  CP_S3_SECRET_ACCESS_KEY: text({ default: '', doc: 'Its secret.', secret: true }),
  CP_S3_CONNECT_TIMEOUT_SECONDS: integer({
    default: 5,
    min: 1,
    max: 600,
    unit: seconds,
    doc: 'Timeout for connecting to the S3-compatible store.',
  }),
  CP_S3_READ_TIMEOUT_SECONDS: integer({
    default: 60,
    min: 1,
    max: 600,
    unit: seconds,
    doc: 'How long a request to the S3-compatible store may go without data.',
  }),
  CP_APPROVAL_OUTCOME_DEFER_SECONDS: integer({
    default: 15,
    min: 1,
    max: 3600,
    unit: seconds,
    doc: 'Delay between retries of the outcome of an approval, while a task that it changes is claimed or held back.',
  }),
  CP_APPROVAL_OUTCOME_SKILL_WAIT_SECONDS: integer({
    default: 86_400,
    min: 1,
    max: 31_536_000,
    unit: seconds,
    doc: 'Timeout of a skill call in the outcome of an approval.',
  }),
  CP_VERIFICATION_CHECK_SECONDS: integer({
    default: 15,
    min: 1,
    max: 3600,
    unit: seconds,
    doc: 'Delay between checks of a pending verification.',
  }),
  CP_VERIFICATION_SKILL_TIMEOUT_SECONDS: integer({
    default: 900,
    min: 1,
    max: 31_536_000,
    unit: seconds,
    doc: 'Timeout of a call to a skill that verifies a check.',
  }),
  CP_VERIFICATION_EXTERNAL_TIMEOUT_SECONDS: integer({
    default: 86_400,
    min: 1,
    max: 31_536_000,
    unit: seconds,
    doc: 'Timeout of a verification that waits for an event or external evidence.',
  }),
  CP_SKILL_INVOCATIONS_PENDING_MAX: integer({
    default: 10_000,
    min: 1,
    max: 1_000_000,
    unit: 'calls',
    doc:
      'Maximum number of pending skill calls per tenant; the next one is refused with 429. Concurrent requests can ' +
      'exceed the limit by one each.',
  }),
  CP_SKILL_INVOCATIONS_RETENTION_SECONDS: integer({
    default: 2_592_000,
    min: 86_400,
    max: 315_360_000,
    unit: seconds,
    doc:
      'How long a skill call is kept after its end, with its inputs and its output; its idempotencyKey remains ' +
      'valid for just as long. A call that an approval permitted is kept for as long as the approval is.',
  }),
  CP_IDEMPOTENCY_TTL_SECONDS: integer({
    default: 86_400,
    min: 1,
    unit: seconds,
    doc: 'How long a response is kept under its idempotency key.',
  }),
  CP_IDEMPOTENCY_WAIT_TIMEOUT_SECONDS: integer({
    default: 10,
    min: 1,
    unit: seconds,
    doc: 'Maximum time that a concurrent duplicate waits for the first request.',
  }),
  ...lowerSettings,
};

export type Settings = SettingValues<typeof settings>;
