import { integer, type SettingValues, text } from '@baton/kernel/process/config';
import { settings as lowerSettings } from '../access/settings.ts';

const seconds = 'seconds';

/** The settings that this layer reads, and those of the layers below it. */
export const settings = {
  CP_ARTIFACT_FOLDER: text({
    default: '',
    doc: "The folder of artifacts' bytes; without it, and without CP_S3_ENDPOINT_URL, none can be stored. All processes need the same one. The default run has `contents` in BATON_HOME.",
  }),
  CP_ARTIFACT_MAX_BYTES: integer({
    default: 104_857_600,
    min: 1,
    unit: 'bytes',
    doc: 'The most bytes that one artifact may have.',
  }),
  CP_ARTIFACT_UPLOAD_TTL_SECONDS: integer({
    default: 86_400,
    min: 1,
    max: 31_536_000,
    unit: seconds,
    doc: 'How long bytes may wait for an artifact that names them.',
  }),
  CP_S3_ENDPOINT_URL: text({
    default: '',
    doc: "The address of an S3-compatible store for artifacts' bytes, for instance `https://s3.eu-central-1.amazonaws.com`. It goes before CP_ARTIFACT_FOLDER; nothing is moved from one to the other.",
  }),
  CP_S3_BUCKET: text({ default: 'artifacts', doc: 'The bucket there; it must exist.' }),
  CP_S3_REGION: text({ default: 'us-east-1', doc: 'The region that requests are signed for.' }),
  CP_S3_ACCESS_KEY_ID: text({ default: '', doc: 'The key that requests are signed with.' }),
  CP_S3_SECRET_ACCESS_KEY: text({ default: '', doc: 'Its secret.', secret: true }),
  CP_S3_CONNECT_TIMEOUT_SECONDS: integer({
    default: 5,
    min: 1,
    max: 600,
    unit: seconds,
    doc: 'The longest wait for a connection to the store.',
  }),
  CP_S3_READ_TIMEOUT_SECONDS: integer({
    default: 60,
    min: 1,
    max: 600,
    unit: seconds,
    doc: 'The longest silence of the store while a request is under way.',
  }),
  CP_APPROVAL_OUTCOME_DEFER_SECONDS: integer({
    default: 15,
    min: 1,
    max: 3600,
    unit: seconds,
    doc: 'How often what a decision leads to looks again, while a task that it changes is claimed or held back.',
  }),
  CP_APPROVAL_OUTCOME_SKILL_WAIT_SECONDS: integer({
    default: 86_400,
    min: 1,
    max: 31_536_000,
    unit: seconds,
    doc: 'How long what a decision leads to waits for the call of a skill.',
  }),
  CP_VERIFICATION_CHECK_SECONDS: integer({
    default: 15,
    min: 1,
    max: 3600,
    unit: seconds,
    doc: 'How often a verification that waits looks again.',
  }),
  CP_VERIFICATION_SKILL_TIMEOUT_SECONDS: integer({
    default: 900,
    min: 1,
    max: 31_536_000,
    unit: seconds,
    doc: 'How long a verification waits for the call of a skill that judges a check.',
  }),
  CP_VERIFICATION_EXTERNAL_TIMEOUT_SECONDS: integer({
    default: 86_400,
    min: 1,
    max: 31_536_000,
    unit: seconds,
    doc: 'How long a verification waits for an event or for evidence from outside.',
  }),
  CP_SKILL_INVOCATIONS_PENDING_MAX: integer({
    default: 10_000,
    min: 1,
    max: 1_000_000,
    unit: 'calls',
    doc: 'Calls of skills of one tenant that may wait for an executor; the next one is refused with 429. Calls that are asked for at the same moment may go over it by as many.',
  }),
  CP_SKILL_INVOCATIONS_RETENTION_SECONDS: integer({
    default: 2_592_000,
    min: 86_400,
    max: 315_360_000,
    unit: seconds,
    doc: 'How long a call of a skill is kept after its end, with its inputs and its output; its idempotencyKey names it for as long. One that an approval allowed is kept as long as the approval.',
  }),
  CP_IDEMPOTENCY_TTL_SECONDS: integer({
    default: 86_400,
    min: 1,
    unit: seconds,
    doc: 'How long an answer is kept under its key.',
  }),
  CP_IDEMPOTENCY_WAIT_TIMEOUT_SECONDS: integer({
    default: 10,
    min: 1,
    unit: seconds,
    doc: 'How long a parallel duplicate waits for the first.',
  }),
  ...lowerSettings,
};

export type Settings = SettingValues<typeof settings>;
