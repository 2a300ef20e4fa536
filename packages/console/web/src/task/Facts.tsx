import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Task } from '@baton/sdk';
import { Moment } from '../parts/Moment.tsx';
import { Who } from '../parts/Who.tsx';
import { workspaceQuery } from '../queries.ts';
import { serverNow } from '../server-clock.ts';
import styles from './task.module.css';

/** The fields of a task that have a value: where it belongs, its dates, who made it, and those of its type. */
export function Facts({ task }: { task: Task }) {
  return (
    <section className="card stack" aria-labelledby="fields">
      <h2 id="fields">Facts</h2>
      <dl className={styles.facts}>
        {task.workspaceId !== null && (
          <Fact name="Workspace">
            <WorkspaceLink id={task.workspaceId} />
          </Fact>
        )}
        {task.projectId !== null && (
          <Fact name="Project">
            <Link to="/projects/$id" params={{ id: task.projectId }}>
              Open the project
            </Link>
          </Fact>
        )}
        {task.ownerId !== null && (
          <Fact name="Owner">
            <Who id={task.ownerId} />
          </Fact>
        )}
        {task.startDate !== null && (
          <Fact name="Starts">
            <Moment at={task.startDate} />
          </Fact>
        )}
        {task.availableAt !== null && isComing(task.availableAt) && (
          <Fact name="Not offered before">
            <Moment at={task.availableAt} />
          </Fact>
        )}
        {task.dueDate !== null && (
          <Fact name="Due">
            <Moment at={task.dueDate} />
          </Fact>
        )}
        <Fact name="Created by">
          <Who id={task.createdBy} />{' '}
          <span className="soft">
            <Moment at={task.createdAt} />
          </span>
        </Fact>
        {Object.entries(task.customFields).map(([name, value]) => (
          <Fact key={name} name={name}>
            <span className="text">{wordsOf(value)}</span>
          </Fact>
        ))}
      </dl>
    </section>
  );
}

/** Whether an instant is in the future; the end of Baton's calendar means no date. */
const isComing = (at: string): boolean => at < '9999' && Date.parse(at) > serverNow();

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div className={styles.fact}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** A workspace by its name, which leads to its tasks; by the end of its id where its name may not be read. */
function WorkspaceLink({ id }: { readonly id: string }) {
  const { data } = useQuery(workspaceQuery(id));
  return (
    <Link to="/" search={{ workspace: id }}>
      {data?.name ?? id.slice(-8)}
    </Link>
  );
}

function wordsOf(value: unknown): string {
  if (Array.isArray(value) && value.every((one) => typeof one !== 'object')) return value.join(', ');
  return typeof value === 'string' ? value : JSON.stringify(value);
}
