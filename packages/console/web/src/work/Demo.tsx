import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { demoState, runDemo } from '../client.ts';
import { ErrorNote } from '../parts/Notes.tsx';
import { demoMinutesMax, useDemoState } from './demo-state.ts';
import styles from './work.module.css';
import type { WorkSearch } from './work-search.ts';
import { demoIn, workspacesQuery } from './workspaces.ts';

/** Whether this person may start and remove the demo stays as it is while the page is open. */
const allowedQuery = { queryKey: ['demo'], queryFn: demoState, staleTime: Number.POSITIVE_INFINITY };

/** Starts the demo and shows it; nothing for those who may not. */
export function StartDemo() {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const { data } = useQuery(allowedQuery);
  const start = useMutation({
    mutationFn: () => runDemo('start'),
    onSuccess: async () => {
      const found = demoIn(await queries.query({ ...workspacesQuery, staleTime: 0 }));
      await navigate({ to: '/', search: { view: 'board', ...(found && { workspace: found.id }) } });
    },
  });
  if (!data?.isAllowed) return null;
  return (
    <>
      <button type="button" className="primary" disabled={start.isPending} onClick={() => start.mutate()}>
        {start.isPending ? 'Starting the demo …' : 'Start the demo'}
      </button>
      {start.isError && <ErrorNote error={start.error} />}
    </>
  );
}

/** Says that the demo is there, and takes it away with one act. */
export function DemoBanner({ search }: { search: WorkSearch }) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const { data: workspaces } = useQuery(workspacesQuery);
  const { data: allowed } = useQuery(allowedQuery);
  const remove = useMutation({
    mutationFn: () => runDemo('remove'),
    onSuccess: () => navigate({ to: '/', search: {} }),
    onSettled: () => {
      for (const key of ['workspaces', 'tasks', 'approvals', 'me'])
        void queries.invalidateQueries({ queryKey: [key] });
    },
  });
  const demo = demoIn(workspaces);
  const state = useDemoState(demo);
  if (demo === undefined) return null;
  const isShown = search.workspace === demo.id;
  const { workspace: _workspace, ...rest } = search;
  return (
    <div className={styles.demo} role="note" aria-label="Demo">
      <p>
        {words[state?.stage ?? 'at work']}{' '}
        {state?.stage === 'at work' && (
          <>
            {state.questions === 0 ? 'Their questions appear in' : waiting(state.questions)} your{' '}
            <Link to="/inbox">inbox</Link>.
          </>
        )}
      </p>
      <Link to="/" search={isShown ? rest : { ...rest, workspace: demo.id }}>
        {isShown ? 'Show all tasks' : 'Show only the demo'}
      </Link>
      {allowed?.isAllowed && (
        <button type="button" disabled={remove.isPending} onClick={() => remove.mutate()}>
          {remove.isPending ? 'Removing the demo …' : 'Remove the demo'}
        </button>
      )}
      {remove.isError && <ErrorNote error={remove.error} />}
    </div>
  );
}

const words = {
  'at work': `Four agents of the demo work in a workspace of its own, for ${demoMinutesMax} minutes at most.`,
  done: 'The demo has ended: its agents have completed all their tasks. Its workspace stays until it is removed.',
  left: `The agents of the demo have left: they wait for answers for ${demoMinutesMax} minutes at most. Its workspace stays until it is removed.`,
};

const waiting = (questions: number): string =>
  questions === 1 ? 'One question of theirs waits in' : `${questions} of their questions wait in`;
