import type { BatonClient, ControlMessage, Lease } from '@baton/sdk';

const messagesMax = 100;

/**
 * Acknowledges the messages to a run whose command was stopped: requests to cancel as done, others as failed.
 * @throws BatonError when the service rejects it
 */
export async function acknowledgeMessages(baton: BatonClient, lease: Lease): Promise<void> {
  const { id: runId } = lease.run;
  const accepted: ControlMessage[] = [];
  for await (const message of baton.runs.listControlMessages(runId, { limit: messagesMax })) {
    if (message.status === 'accepted') accepted.push(message);
    if (accepted.length === messagesMax) break;
  }
  let { version: expectedRunVersion } = await baton.runs.get(runId);
  for (const { id, version: expectedMessageVersion, operation } of accepted)
    await lease.write(async ({ claimId, fencingToken, signal }) => {
      const answered =
        operation === 'request_cancel'
          ? { status: 'applied', safeBoundary: 'the command was stopped' }
          : { status: 'rejected', reason: 'a command takes no messages' };
      const body = { ...answered, claimId, fencingToken, expectedRunVersion, expectedMessageVersion };
      ({ runVersion: expectedRunVersion } = await baton.runs.acknowledgeControlMessage(runId, id, body, {
        signal,
      }));
    });
}
