import { queryOptions, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Task, TaskForm } from '@baton/sdk';
import { baton } from '../../client.ts';
import { Values } from '../../parts/Values.tsx';
import { Who } from '../../parts/Who.tsx';
import { meQuery } from '../../queries.ts';
import { claimabilityQuery } from '../claimability.ts';
import { useHold } from '../use-holds.tsx';
import { AnswerForm } from './AnswerForm.tsx';
import { labelAnswers } from './form-fields.ts';

const formQuery = ({ id, origin }: Pick<Task, 'id' | 'origin'>) =>
  queryOptions({
    // The key excludes the version, so that input in the form survives changes to the task.
    queryKey: ['tasks', 'form', id],
    queryFn: ({ signal }) => baton.tasks.getForm(id, { signal }),
    enabled: origin.kind === 'process',
  });

/** The form of a task's process step, with a link to the process; nothing for other tasks. */
export function StepForm({ task }: { readonly task: Task }) {
  const { data } = useQuery(formQuery(task));
  if (data === undefined || data.process === null) return null;
  const { form, context, values } = data;
  const isEnded = task.systemStatusCategory.startsWith('terminal');
  return (
    <section className="card stack" aria-labelledby="step">
      <h2 id="step">{form === null ? 'Process' : 'Process form'}</h2>
      <OfProcess process={data.process} />
      {Object.keys(context).length > 0 && <Values of={context} />}
      {form !== null &&
        (isEnded ? <Values of={labelAnswers(form, values)} /> : <Open task={task} form={data} />)}
    </section>
  );
}

function OfProcess({
  process: { instanceId, element },
}: {
  readonly process: NonNullable<TaskForm['process']>;
}) {
  const mayRead = useQuery(meQuery).data?.permissions.includes('processes.read') ?? false;
  const { data } = useQuery({
    queryKey: ['processes', 'one', instanceId],
    queryFn: ({ signal }) => baton.processInstances.get(instanceId, { signal }),
    enabled: mayRead,
  });
  return (
    <p>
      {element === null ? 'Retrospective of process' : `Step ${element} of process`}{' '}
      {mayRead ? (
        <Link to="/processes/$id" params={{ id: instanceId }}>
          {data?.instanceKey ?? instanceId.slice(-8)}
        </Link>
      ) : (
        <span className="mono">{instanceId.slice(-8)}</span>
      )}
      {data !== undefined && <span className="soft"> ({data.definitionKey})</span>}
    </p>
  );
}

/** The form of an open task, or the reason why this person can't fill it in. */
function Open({ task, form }: { readonly task: Task; readonly form: TaskForm }) {
  const mayWrite = useQuery(meQuery).data?.permissions.includes('tasks.write') ?? false;
  const isHeldHere = useHold(task.id) !== undefined;
  const { data: claimability } = useQuery(claimabilityQuery(task));
  const other = addresseeIn(claimability?.reasons);
  const isOfOther = task.activeClaimId !== null && !isHeldHere;
  return (
    <>
      {other !== undefined && (
        <p className="soft">
          Only <Addressee is={other.is} /> can fill in this form.
        </p>
      )}
      {other === undefined && isOfOther && (
        <p className="soft">Only the holder of the task can fill in this form.</p>
      )}
      {!mayWrite && (
        <p className="soft">
          You need the permission <code className="mono">tasks.write</code> to fill in this form.
        </p>
      )}
      <AnswerForm
        key={task.id}
        task={task}
        form={form}
        isLocked={!mayWrite || other !== undefined || isOfOther}
      />
    </>
  );
}

function Addressee({ is }: { readonly is: unknown }) {
  const { principalId, agentKey } = (is ?? {}) as { principalId?: string; agentKey?: string };
  if (principalId !== undefined) return <Who id={principalId} />;
  if (agentKey !== undefined) return <>the agent {agentKey}</>;
  return is === null ? <>process operators</> : <>holders of the required role</>;
}

/**
 * The addressee of a step's task, if that isn't this person. The service's reasons have details that their type doesn't
 * declare.
 */
function addresseeIn(
  reasons: readonly { readonly code: string }[] = [],
): { readonly is: unknown } | undefined {
  const found = reasons.find((reason) => reason.code === 'not_eligible' && 'addressee' in reason);
  return found && { is: (found as { addressee?: unknown }).addressee };
}
