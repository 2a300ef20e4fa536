import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ControlMessage, HarnessContext } from '@baton/sdk';
import { baton } from '../client.ts';
import { Moment } from '../parts/Moment.tsx';
import { ErrorNote } from '../parts/Notes.tsx';
import { Who } from '../parts/Who.tsx';
import { taskQuery } from '../queries.ts';
import styles from './inbox.module.css';

/** How many of the journal's newest control message events are read. Task pages show older ones. */
const eventsMax = 200;
const runsMax = 20;
const messagesMax = 50;

const words: Readonly<Record<ControlMessage['operation'], string>> = {
  queue: 'Queued',
  steer: 'Steer',
  redirect: 'Redirect',
  request_cancel: 'Cancellation requested',
  force_cancel: 'Cancel immediately',
};

/** Control messages to active runs that haven't been acknowledged yet. */
export function ControlMessages({ me }: { me: HarnessContext }) {
  const { data, error, refetch } = useQuery({
    // Not under the query key of tasks: every change to a task would then start a refetch of up to 41 requests, and in
    // a busy tenant none would ever finish.
    queryKey: ['inbox', 'control-messages'],
    queryFn: ({ signal }) => openMessages(signal),
    enabled: ['events.read', 'tasks.read'].every((permission) => me.permissions.includes(permission)),
  });
  const failure = error ?? data?.failure;
  if (!data?.messages.length && failure == null) return null;
  return (
    <section className={styles.section} aria-labelledby="messages">
      <h2 id="messages">Pending control messages</h2>
      {failure != null && <ErrorNote error={failure} onRetry={() => void refetch()} />}
      <ul className="stack">
        {data?.messages.map((message) => (
          <li key={message.id} className="card stack">
            <p className="text">
              <strong>{words[message.operation]}</strong>
              {(message.directive ?? message.reason) && `: ${message.directive ?? message.reason}`}
            </p>
            <p className="soft">
              <Who id={message.requestedByPrincipalId} /> · <Moment at={message.acceptedAt} /> ·{' '}
              <TaskLink id={message.taskId} />
            </p>
          </li>
        ))}
      </ul>
    </section>
  );
}

function TaskLink({ id }: { readonly id: string }) {
  const { data } = useQuery(taskQuery(id));
  if (data === undefined) return null;
  return (
    <Link to="/tasks/$ref" params={{ ref: data.publicId }} className={styles.title}>
      {data.title}
    </Link>
  );
}

/** The messages that could be loaded, and the error for those that couldn't. */
interface OpenMessages {
  /** Newest first. */
  readonly messages: readonly ControlMessage[];
  readonly failure: unknown;
}

async function openMessages(signal: AbortSignal): Promise<OpenMessages> {
  const { items } = await baton.events.list(
    { types: 'run.control_message.', tail: eventsMax, limit: eventsMax },
    { signal },
  );
  const last = new Map(items.map((event) => [event.payload['controlMessageId'], event]));
  const pending = [...last.values()].filter(({ type }) => type === 'run.control_message.accepted');
  const runs = [...new Set(pending.map(({ entityId }) => entityId))].slice(-runsMax);
  const found = await Promise.allSettled(
    runs.map(async (id) => {
      const { status } = await baton.runs.get(id, { signal });
      if (status !== 'running') return [];
      const messages = await baton.runs.listControlMessages(id, { limit: messagesMax }, { signal });
      return messages.items.filter((message) => message.status === 'accepted');
    }),
  );
  const messages = found.flatMap((run) => (run.status === 'fulfilled' ? run.value : []));
  return {
    messages: messages.toSorted((one, other) => other.acceptedAt.localeCompare(one.acceptedAt)),
    failure: found.find((run) => run.status === 'rejected')?.reason,
  };
}
