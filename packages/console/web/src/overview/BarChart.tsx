import { type ReactNode, useId, useState } from 'react';
import styles from './overview.module.css';

/** A series of bars. `tone` is a class in overview.module.css. */
export interface Series {
  readonly name: string;
  readonly tone: 'plain' | 'soft' | 'warn' | 'bad';
  readonly values: readonly number[];
}

const height = 100;
const step = 10;
const barWidth = 8;

/**
 * A bar chart by day or week, with the same figures as a table. Screen readers always read the table; a button shows it
 * to everybody.
 * @param labels the days, one per value
 * @param isStacked whether the series add up; otherwise the later ones are drawn over the earlier ones
 */
export function BarChart({
  title,
  summary,
  what,
  labels,
  series,
  textOf,
  isStacked = false,
}: {
  title: string;
  summary?: ReactNode;
  /** The header of the first column. */
  what: string;
  labels: readonly string[];
  series: readonly Series[];
  textOf: (value: number) => string;
  isStacked?: boolean;
}) {
  const id = useId();
  const [isTable, setTable] = useState(false);
  const sums = labels.map((_, n) => {
    const values = series.map(({ values: all }) => all[n] ?? 0);
    return isStacked ? values.reduce((sum, value) => sum + value, 0) : Math.max(0, ...values);
  });
  const most = Math.max(0, ...sums);
  const heightOf = (value: number) => (most === 0 ? 0 : (value / most) * height);
  return (
    <section className={`card stack ${styles.chart}`} aria-labelledby={id}>
      <header className={styles.head}>
        <h2 id={id}>{title}</h2>
        <button type="button" aria-pressed={isTable} onClick={() => setTable(!isTable)}>
          Show as table
        </button>
      </header>
      {summary}
      {!isTable && (
        <div aria-hidden="true">
          <p className={styles.most}>{most === 0 ? 'none' : `up to ${textOf(most)}`}</p>
          <svg
            viewBox={`0 0 ${labels.length * step} ${height}`}
            preserveAspectRatio="none"
            className={styles.bars}
            role="presentation"
          >
            {labels.map((label, n) => {
              let below = 0;
              return (
                <g key={label}>
                  <title>
                    {`${label}: ${series.map(({ name, values }) => `${name} ${textOf(values[n] ?? 0)}`).join(', ')}`}
                  </title>
                  {/* The tooltip covers the whole column, so that it also appears for small bars. */}
                  <rect x={n * step} y={0} width={step} height={height} className={styles.column} />
                  {series.map(({ name, tone, values }) => {
                    const size = heightOf(values[n] ?? 0);
                    const top = height - size - (isStacked ? below : 0);
                    below += size;
                    return (
                      <rect
                        key={name}
                        x={n * step + (step - barWidth) / 2}
                        y={top}
                        width={barWidth}
                        height={size}
                        className={styles[tone]}
                      />
                    );
                  })}
                </g>
              );
            })}
          </svg>
          <p className={styles.axis}>
            <span>{labels[0]}</span>
            <span>{labels.length > 1 && labels.at(-1)}</span>
          </p>
          {series.length > 1 && (
            <ul className={styles.legend}>
              {series.map(({ name, tone }) => (
                <li key={name}>
                  <span className={`${styles.swatch} ${styles[tone]}`} /> {name}
                </li>
              ))}
            </ul>
          )}
        </div>
      )}
      <div
        className={isTable ? styles.scroll : 'visually-hidden'}
        {...(isTable && { role: 'region', 'aria-label': `${title} as a table`, tabIndex: 0 })}
      >
        <table className={styles.table}>
          <caption className="visually-hidden">{title}</caption>
          <thead>
            <tr>
              <th scope="col">{what}</th>
              {series.map(({ name }) => (
                <th key={name} scope="col" className={styles.number}>
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {labels.map((label, n) => (
              <tr key={label}>
                <th scope="row">{label}</th>
                {series.map(({ name, values }) => (
                  <td key={name} className={styles.number}>
                    {textOf(values[n] ?? 0)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
