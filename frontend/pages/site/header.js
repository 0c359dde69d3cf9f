// What the header of each page does for those who are signed in.

import "../alerts/flag.js";
import "./search_key.js";
