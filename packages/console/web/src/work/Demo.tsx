import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { demoState, runDemo } from '../client.ts';
import { ErrorNote } from '../parts/Notes.tsx';
import { demoMinutesMax, useDemoState } from './demo-state.ts';
import styles from './work.module.css';
import type { WorkSearch } from './work-search.ts';
import { demoIn, workspacesQuery } from './workspaces.ts';

/** The permission to start and remove the demo doesn't change while the page is open. */
const allowedQuery = { queryKey: ['demo'], queryFn: demoState, staleTime: Number.POSITIVE_INFINITY };

/** Whether this person may start and remove the demo. */
export const useMayStartDemo = (): boolean => useQuery(allowedQuery).data?.isAllowed === true;

/** Starts the demo and opens its board. Hidden without the permission. */
export function StartDemo() {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const mayStart = useMayStartDemo();
  const start = useMutation({
    mutationFn: () => runDemo('start'),
    onSuccess: async () => {
      const found = demoIn(await queries.query({ ...workspacesQuery, staleTime: 0 }));
      await navigate({ to: '/', search: { view: 'board', ...(found && { workspace: found.id }) } });
    },
  });
  if (!mayStart) return null;
  return (
    <>
      <button type="button" className="primary" disabled={start.isPending} onClick={() => start.mutate()}>
        {start.isPending ? 'Starting the demo …' : 'Start the demo'}
      </button>
      {start.isError && <ErrorNote error={start.error} />}
    </>
  );
}

/** A banner for the running demo, with a button to remove it. */
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
            {state.questions === 0 ? 'Their questions appear in' : countQuestions(state.questions)} your{' '}
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
  'at work': `Four demo agents are working in their own workspace, for ${demoMinutesMax} minutes at most.`,
  done: 'The demo is complete: its agents have finished all tasks. Its workspace is kept until you remove the demo.',
  left: `The demo agents have stopped: they wait at most ${demoMinutesMax} minutes for answers. The workspace is kept until you remove the demo.`,
};

const countQuestions = (questions: number): string =>
  questions === 1 ? 'One question is pending in' : `${questions} questions are pending in`;
