import { activityId } from './ids/activity-ids.ts';
import type { Machine } from './machine.ts';
import { finish, payloadOfEntered } from './sequences.ts';
import type { Ballot, ElementNode, EventRoot } from './state.ts';
import { resultOf } from './voting/quorum.ts';

/** Votes of a step that requests approvals from several people (docs/reference/processes.md#votes). */

const commentCharactersMax = 4000;

/**
 * Requests approvals from the resolved people, in parallel or sequentially. If approvals were requested from some of
 * them before a refusal, these people keep their approvals and votes. People who are not resolved again no longer
 * count, unless they have voted.
 */
export function takeVoters(m: Machine, element: string, principals: readonly string[]): void {
  const node = m.element(element);
  if (node === undefined || node.waitsFor !== 'approvals') return;
  node.refused = false;
  delete node.isFindingVoters;
  const isSeparated = m.step(element).approve?.separationOfDuties === true;
  const voters = [...new Set(principals)].filter((id) => !isSeparated || !m.state.workers.includes(id));
  const before = node.ballots ?? [];
  const gone = before.filter(({ principalId, asked }) => asked && !voters.includes(principalId));
  const found = voters.map(
    (principalId): Ballot =>
      before.find((ballot) => ballot.principalId === principalId) ?? {
        approvalId: activityId(m.state.id, element, node.attempt, `approval/${principalId}`),
        principalId,
        vote: 'pending',
        asked: false,
      },
  );
  node.ballots = [...gone, ...found];
  for (const ballot of gone) if (ballot.vote === 'pending') leave(m, node, ballot);
  m.note('decision', element, 'voters', { principals: voters });
  if (node.isEntered !== true) m.tell('process.step_entered', payloadOfEntered(node));
  node.isEntered = true;
  continueVote(m, node);
}

/** Records that an approval could not be requested. */
export function clearRequested(node: ElementNode, approvalId: string): void {
  for (const ballot of node.ballots ?? []) if (ballot.approvalId === approvalId) ballot.asked = false;
}

/** The result of one approval of a step. */
export function takeVote(m: Machine, node: ElementNode, event: EventRoot): void {
  const ballot = node.ballots?.find(({ approvalId }) => approvalId === event.entityId);
  if (ballot === undefined || ballot.vote !== 'pending') return;
  if (event.type === 'approval.approved') ballot.vote = 'approved';
  else if (event.type === 'approval.rejected') ballot.vote = 'rejected';
  else if (event.type === 'approval.cancelled') ballot.vote = 'left';
  else return;
  continueVote(m, node);
}

/** A disabled person no longer votes, so the quorum is computed again. */
export function removeVoter(m: Machine, node: ElementNode, principalId: string): void {
  const ballot = node.ballots?.find((one) => one.principalId === principalId && one.vote === 'pending');
  if (ballot === undefined) return;
  leave(m, node, ballot);
  continueVote(m, node);
}

function leave(m: Machine, { id: element }: ElementNode, ballot: Ballot): void {
  const { approvalId, asked } = ballot;
  if (asked) m.effect({ kind: 'close_approval', element, approvalId });
  ballot.vote = 'left';
}

/** Ends a vote that is decided, or requests the next approval. */
export function continueVote(m: Machine, node: ElementNode): void {
  const { approve } = m.step(node.id);
  const ballots = node.ballots ?? [];
  const votes = ballots.map(({ vote }) => vote);
  const result = resultOf(votes, approve?.quorum ?? 'all', approve?.earlyDecision ?? true);
  if (result !== undefined) return endVote(m, node, result.outcome, result.reason);
  const isAsking = ballots.some(({ asked, vote }) => asked && vote === 'pending');
  const waiting = ballots.filter(({ asked, vote }) => !asked && vote === 'pending');
  const asked = approve?.mode === 'sequential' ? (isAsking ? [] : waiting.slice(0, 1)) : waiting;
  const title = approve?.title === undefined ? '' : m.tools.render(approve.title, m.rootsIn(node));
  for (const ballot of asked) {
    ballot.asked = true;
    m.effect({
      kind: 'ask_approval',
      element: node.id,
      approvalId: ballot.approvalId,
      principalId: ballot.principalId,
      comment: title.slice(0, commentCharactersMax),
      excluded: approve?.separationOfDuties === true ? m.state.workers : [],
    });
  }
}

/**
 * @param reason why the vote ended: `due` if its deadline decided
 */
export function endVote(
  m: Machine,
  node: ElementNode,
  outcome: 'approved' | 'rejected',
  reason: string,
): void {
  const votes = (node.ballots ?? []).map(({ principalId, vote }) => ({ principalId, vote }));
  m.note('decision', node.id, reason, { outcome });
  finish(m, node, { outcome, reason, votes }, { status: outcome });
}
