// Builds the browser's part of the console into the folder that is named: node build.main.ts FOLDER
import react from '@vitejs/plugin-react';
import { build } from 'vite';
import { webFolder } from './build.ts';

const [outDir] = process.argv.slice(2);
if (outDir === undefined) throw new Error('name the folder to build into');
await build({
  root: webFolder,
  configFile: false,
  logLevel: 'warn',
  plugins: [react()],
  build: {
    outDir,
    emptyOutDir: true,
    target: 'es2023',
    modulePreload: { polyfill: false },
    // The licences of what the console's files hold of others, for those who pass them on.
    license: { fileName: 'licenses.md' },
    // A style or an image in a data URL would need an exception in the content security policy.
    assetsInlineLimit: 0,
  },
});
