/* All scripts of the review screen. */

import "../keys.js";
import "../math.js";
import "./form.js";
import "./guard.js";
import "./evidence.js";
import "./reason.js";
import "./causes.js";
import "./guideline.js";
import "./adjudication.js";
import "./answers.js";
import "./commands.js";
import "./drafts.js";
import "./next.js";
import "./presence.js";
import "./sections.js";
import "./session.js";
import "./strip.js";
