import { revealHidden, type Task } from '@baton/sdk';
import { baton } from '../client.ts';
import { claimNotice } from './once.ts';

/** What may be shown. It contains neither questions nor messages, because lock screens show notifications. */
export type Waiting =
  | { readonly kind: 'decision'; readonly id: string; readonly taskId: string | null }
  /** @param key of the assignment: a task may be assigned to the same person again */
  | { readonly kind: 'task'; readonly key: string; readonly taskId: string; readonly assigneeId: string }
  /** @param id of the event: each event mentions a person at most once */
  | { readonly kind: 'mention'; readonly id: string; readonly taskId: string }
  | { readonly kind: 'message'; readonly id: string; readonly taskId: string };

const titles = {
  decision: 'Decision requested',
  task: 'Task assigned',
  mention: 'You were mentioned',
  message: 'Control message',
} as const;
const titleCharactersMax = 120;
const readMsMax = 10_000;

/**
 * Shows one notification of what is waiting, in one tab of this browser.
 * @param open opens a path of the console in this tab, when the person clicks
 */
export async function showWaiting(waiting: Waiting, open: (path: string) => void): Promise<void> {
  const key = `${waiting.kind} ${'key' in waiting ? waiting.key : waiting.id}`;
  const answer = await claimNotice(key);
  if (answer === 'no') return;
  if (answer === 'summarize')
    return show({ title: 'More is pending', body: 'Open your inbox.', tag: 'baton-more' }, '/inbox', open);
  const task = await readTask(waiting.taskId);
  if (waiting.kind === 'task' && task !== undefined && !isOpenFor(task, waiting.assigneeId)) return;
  const body = task === undefined ? 'Open it in the console.' : `${oneLine(task.title)} (${task.publicId})`;
  const path =
    waiting.kind === 'decision' ? `/approvals/${waiting.id}` : `/tasks/${task?.publicId ?? waiting.taskId}`;
  show({ title: titles[waiting.kind], body, tag: `baton ${key}` }, path, open);
}

/** If the task can't be read, the notification lacks its title, which is better than no notification. */
async function readTask(id: string | null): Promise<Task | undefined> {
  if (id === null) return undefined;
  return baton.tasks.get(id, { signal: AbortSignal.timeout(readMsMax) }).catch(() => undefined);
}

function isOpenFor({ assigneeId, systemStatusCategory }: Task, personId: string): boolean {
  return assigneeId === personId && !systemStatusCategory.startsWith('terminal');
}

function oneLine(text: string): string {
  const characters = [...revealHidden(text).replaceAll(/\s+/g, ' ').trim()];
  return characters.length <= titleCharactersMax
    ? characters.join('')
    : `${characters.slice(0, titleCharactersMax - 1).join('')}…`;
}

interface Shown {
  readonly title: string;
  readonly body: string;
  /** A later notification with the same tag replaces it. */
  readonly tag: string;
}

function show({ title, body, tag }: Shown, path: string, open: (path: string) => void): void {
  const notification = new Notification(title, { body, tag });
  notification.onclick = () => {
    window.focus();
    notification.close();
    open(path);
  };
}
