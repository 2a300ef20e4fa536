import { useQueryClient } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import type { HarnessContext } from '@baton/sdk';
import { onEveryEvent } from '../live.ts';
import { Assignments } from './assignments.ts';
import { useChoice } from './choice.ts';
import { announceVisible } from './once.ts';
import { showWaiting, type Waiting } from './show.ts';

/** The polling interval for a person who may not follow the journal. A hidden page doesn't poll otherwise. */
const pollMs = 60_000;

/**
 * While no tab of the console is visible, notifies the person in this browser of what waits for them, if they chose so.
 */
export function useNotifications(me: HarnessContext | undefined): void {
  const personId = me?.principal.id;
  const isOn = useChoice(personId) === 'on';
  const router = useRouter();
  const show = useRef((waiting: Waiting) => {
    void showWaiting(waiting, (path) => router.history.push(path)).catch(() => undefined);
  }).current;
  useEffect(() => (isOn ? announceVisible() : undefined), [isOn]);
  useDecisions(me, isOn, show);
  useEvents(me, isOn, show);
  useBackgroundPoll(isOn && me?.permissions.includes('events.read') === false);
}

type Show = (waiting: Waiting) => void;

/** The pending approvals that appear while the page is hidden. */
function useDecisions(me: HarnessContext | undefined, isOn: boolean, show: Show): void {
  const known = useRef<ReadonlySet<string>>(undefined);
  useEffect(() => {
    if (me === undefined) return;
    const { current } = known;
    known.current = new Set(me.pendingApprovals.map(({ id }) => id));
    if (current === undefined || !isOn || !document.hidden) return;
    for (const { id, taskId } of me.pendingApprovals)
      if (!current.has(id)) show({ kind: 'decision', id, taskId });
  }, [me, isOn, show]);
}

/**
 * Shows notifications while the page is hidden: for tasks that others assign to the person, for texts that mention the
 * person, and for control messages to the person's runs.
 */
function useEvents(me: HarnessContext | undefined, isOn: boolean, show: Show): void {
  const personId = me?.principal.id;
  const runs = useRef<ReadonlySet<string>>(new Set());
  useEffect(() => {
    runs.current = new Set([...(me?.activeRuns ?? []), ...(me?.suspendedRuns ?? [])].map(({ id }) => id));
  }, [me]);
  useEffect(() => {
    if (!isOn || personId === undefined) return;
    const assignments = new Assignments(personId, ({ taskId, key }) =>
      show({ kind: 'task', key, taskId, assigneeId: personId }),
    );
    const stop = onEveryEvent((event) => {
      if (!document.hidden || event.actorId === personId) return;
      assignments.take(event);
      if (event.type === 'task.mentioned' && isOf(event.payload['principalIds'], personId))
        show({ kind: 'mention', id: event.id, taskId: event.entityId });
      if (event.type !== 'run.control_message.accepted' || !runs.current.has(event.entityId)) return;
      const { controlMessageId, taskId } = event.payload;
      show({ kind: 'message', id: String(controlMessageId), taskId: String(taskId) });
    });
    return () => {
      stop();
      assignments.stop();
    };
  }, [personId, isOn, show]);
}

function isOf(ids: unknown, id: string): boolean {
  return Array.isArray(ids) && ids.includes(id);
}

function useBackgroundPoll(isNeeded: boolean): void {
  const queries = useQueryClient();
  useEffect(() => {
    if (!isNeeded) return;
    const timer = setInterval(() => {
      if (document.hidden) void queries.invalidateQueries({ queryKey: ['me'] });
    }, pollMs);
    return () => clearInterval(timer);
  }, [isNeeded, queries]);
}
