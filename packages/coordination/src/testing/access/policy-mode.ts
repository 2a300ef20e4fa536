import { after, before, beforeEach } from 'node:test';
import { byDepth } from '@baton/testing/depth';
import { type Actor, startCoordination, type TestCoordination } from '../coordination.ts';
import { type ReceivedQuestion, startPolicyService, type TestPolicy } from './policy-service.ts';

/** The service in CP_AUTHZ_MODE policy, and its decision point. */
export interface PolicyMode {
  readonly baton: TestCoordination;
  readonly policy: TestPolicy;
  /** The administrator may do everything; other principals may do what the test's rule allows. */
  grant(rule: (question: ReceivedQuestion) => boolean): void;
  /** Grants no permissions to principals other than the administrator, and discards the recorded requests. */
  reset(): void;
  close(): Promise<void>;
}

export async function startPolicyMode(settings: Record<string, string> = {}): Promise<PolicyMode> {
  const policy = await startPolicyService();
  const baton = await startCoordination({
    ...policy.env,
    CP_AUTHZ_MODE: 'policy',
    CP_POLICY_CACHE_TTL_SECONDS: '0',
    // Longer than a response takes on a busy machine.
    CP_POLICY_TIMEOUT_SECONDS: byDepth('30', '2'),
    CP_LEGACY_API_KEYS_ENABLED: 'true',
    CP_WS_POLL_INTERVAL_SECONDS: '1',
    ...settings,
  });
  const grant: PolicyMode['grant'] = (rule) =>
    policy.decide((question) => question.who === baton.admin.iamPrincipalId || rule(question));
  return {
    baton,
    policy,
    grant,
    reset() {
      policy.behave(undefined);
      policy.list(() => []);
      grant(() => false);
      policy.asked.length = 0;
      policy.requests.length = 0;
    },
    async close() {
      await baton.close();
      await policy.close();
    },
  };
}

/** The decision point of a file's tests. */
export interface FilePolicyMode extends Pick<PolicyMode, 'grant'> {
  /** Limits principals other than the administrator to exactly these permissions. */
  grantActions(...actions: string[]): void;
  /** The requests about a principal since the test started. */
  askedOf(actor: Actor): ReceivedQuestion[];
}

/**
 * Starts the decision point before the tests of a file, resets it before each of them, and closes it after the last.
 * @param started called with the decision point before the first test
 */
export function policyModeOfFile(started: (mode: PolicyMode) => void): FilePolicyMode {
  let mode: PolicyMode;
  before(async () => {
    mode = await startPolicyMode();
    started(mode);
  });
  after(() => mode.close());
  beforeEach(() => mode.reset());
  return {
    grant: (rule) => mode.grant(rule),
    grantActions: (...actions) => mode.grant(({ action }) => actions.includes(action)),
    askedOf: (actor) => mode.policy.asked.filter(({ who }) => who === actor.iamPrincipalId),
  };
}
